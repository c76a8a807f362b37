/** Context, messages and freezes for a terminal. Quotes agents' text, as other agents see it. */

import { limits } from "../../protocol/limits.ts";
import { nameOrPerson, personName } from "../../protocol/names.ts";
import type { ContextRow, JsonValue } from "../../protocol/schemas/context.ts";
import type { HoldRow, MessageRow, PostedRow } from "../../protocol/schemas/message.ts";
import { escaped, frame, quote } from "../../protocol/text.ts";
import { bytes, clean, clock, counted, duration, type Screen, table, wrap } from "./text.ts";

/** Returns a value as JSON on one line, with invisible and control characters escaped. */
export function valueText(value: JsonValue): string {
  return escaped(JSON.stringify(value));
}

/** Keys with their versions and the sessions that set them. */
export function contextView(rows: readonly ContextRow[], screen: Screen): string[] {
  if (rows.length === 0) return ["No context. To share a value: kite context set KEY VALUE"];
  const cells = rows.map(row => [
    { text: clean(row.key), style: "bold" as const },
    `version ${row.version}`,
    bytes(row.bytes),
    clean(nameOrPerson(row.fromName)),
    `${duration(screen.now - row.at)} ago`,
    [row.durable ? "durable" : "", row.endsInMs === null ? "" : `ends in ${duration(row.endsInMs)}`]
      .filter(word => word !== "")
      .join(", "),
  ]);
  return table(cells, [{ min: 8 }, {}, { align: "right" }, { min: 5 }, {}, {}], screen);
}

/** An inbox: the messages, behind the frame that marks them as words of others. */
export function inboxView(messages: readonly MessageRow[], unread: number, screen: Screen): string[] {
  if (messages.length === 0) return ["No messages."];
  const lines = messages.map(message => {
    const { id, from, state, urgent, undelivered } = message;
    const who = from === null ? personName() : quote(from.name, limits.nameBytes);
    const about = [state, urgent ? "urgent" : "", clock(message.at, screen.now)].filter(word => word !== "");
    const text = quote(message.text, limits.messageBytes);
    return undelivered === null
      ? `- ${clean(id)} from ${who} (${about.join(", ")}): ${text}`
      : `- ${clean(id)} was not delivered, ${quote(undelivered, limits.nameBytes)} ended without reading it: ${text}`;
  });
  const more = unread === 0 ? "" : `; ${unread} unread`;
  return [frame, ...lines, `${counted(messages.length, "message")}${more}`];
}

/** Every message in the inboxes of a project, for a person. */
export function postedView(rows: readonly PostedRow[], screen: Screen): string[] {
  if (rows.length === 0) return ["No messages."];
  return rows.flatMap(row => {
    const from = row.from === null ? personName() : clean(row.from.name);
    const to = row.broadcast
      ? `everyone (${row.to.filter(one => one.state === "read").length} of ${row.to.length} read it)`
      : row.to.map(one => `${clean(one.name)} (${one.state})`).join(", ");
    const urgent = row.urgent ? " urgent" : "";
    const head = `${clock(row.at, screen.now)}  ${clean(row.id)}${urgent}  ${from} → ${to}`;
    return [...wrap(head, screen.width, 4), ...indented(row.text, screen)];
  });
}

export function freezesView(rows: readonly HoldRow[], screen: Screen): string[] {
  if (rows.length === 0) return ["No freezes."];
  return rows.flatMap(row => {
    const by = row.by === null ? personName() : clean(row.by.name);
    const files = row.files.map(clean).join(", ");
    const head = `${clean(row.hold)}  ${files}: frozen by ${by}, ${duration(row.leftMs)} left`;
    return [...wrap(head, screen.width, 4), ...indented(row.text, screen)];
  });
}

function indented(text: string, screen: Screen): string[] {
  return wrap(clean(text), screen.width - 4).map(line => `    ${line}`);
}
