/** The health of agents as text. */
import type { HealthRow, HealthState } from "../../../protocol/lead/team.ts";
import { shellArgument } from "../../../protocol/text.ts";
import type { Style } from "../../view/color.ts";
import { clean, duration } from "../../view/text.ts";

interface StyledText {
  readonly text: string;
  readonly style: Style;
}

/** Returns the state and for how long: `quiet for 6m`, `stopped (SIGSTOP) for 2m`. */
export function healthText({ state, forMs, on, why = "" }: HealthRow): string {
  const what = on === undefined ? "" : ` on ${waited[on]}`;
  const signal = state === "stopped" && why !== "" ? ` (${clean(why)})` : "";
  return `${state}${what}${signal} for ${duration(forMs)}`;
}

const waited = { person: "a person", lock: "a lock", service: "the model's service" } as const;

/** Returns what a list of sessions says of an agent that needs a look; null: its plain status says all. */
export function troubleOf(health: HealthRow | undefined): StyledText | null {
  if (health === undefined) return null;
  const style = styles[health.state];
  return style === undefined ? null : { text: healthText(health), style };
}

const styles: { readonly [S in HealthState]?: Style } = {
  quiet: "yellow",
  stalled: "red",
  stopped: "red",
  dead: "red",
};

/** Returns what to do about an agent, called `name`; empty: nothing. Only an agent of `kite spawn` can be replaced. */
export function healthAdvice(
  health: HealthRow | undefined,
  name: string,
  pid: number | null,
  isSpawned = false,
): string[] {
  if (health?.state === "stalled") {
    const why = health.why === undefined ? [] : [clean(health.why)];
    const named = clean(shellArgument(name));
    return [...why, `kite release ${named}`, ...(isSpawned ? [`kite agents replace ${named}`] : [])];
  }
  return health?.state === "stopped" && pid !== null ? [`kill -CONT ${pid}`] : [];
}

/** Whether others were told of it, or are about to be. */
export function needsLook(health: HealthRow | undefined): boolean {
  return health?.state === "stalled" || health?.state === "stopped";
}
