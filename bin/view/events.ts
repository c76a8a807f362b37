import type { EventLine } from "../../protocol/events.ts";
import { clean, clock, duration, type Screen } from "./text.ts";

/** An event about locks as one line for a person, or null for any other. */
export function lockEventLine(event: EventLine, screen: Pick<Screen, "now">): string | null {
  const said = sentence(event);
  return said === null ? null : `${clock(screen.now, screen.now)}  ${said}`;
}

function sentence(event: EventLine): string | null {
  switch (event.event) {
    case "lock_granted": {
      const after = event.waitedMs > 0 ? ` after ${duration(event.waitedMs)}` : "";
      return `granted   ${filesOf(event)} to ${clean(event.holder.name)}${after}`;
    }
    case "lock_queued": {
      const behind = event.holder === null ? "" : `, held by ${clean(event.holder.name)}`;
      return `queued    ${clean(event.waiter.name)} for ${filesOf(event)}, place ${event.position}${behind}`;
    }
    case "lock_released":
      return `released  ${filesOf(event)} by ${clean(event.holder.name)}: ${clean(event.cause)}`;
    case "lock_wait_ended":
      return `gave up   ${clean(event.waiter.name)} for ${filesOf(event)}: ${clean(event.cause)}`;
    case "lock_revoked":
      return `revoked   ${filesOf(event)} from ${clean(event.holder.name)} by ${clean(event.by)}`;
    default:
      return null;
  }
}

function filesOf(event: { readonly paths: readonly string[]; readonly more?: number }): string {
  const more = event.more === undefined ? [] : [`${event.more} more`];
  return [...event.paths.map(clean), ...more].join(", ");
}
