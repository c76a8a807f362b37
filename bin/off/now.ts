/** Says where Kite is off now. It only reads; store.ts writes. */
import {
  isInForce,
  type OffSwitch,
  type OffSwitches,
  OffSwitchReader,
} from "../../daemon/config/off-switch.ts";
import type { ProcessContext } from "../process-context.ts";
import { tilde } from "../view/places.ts";
import { clean, clock } from "../view/text.ts";

/** Returns a sentence for each scope in which Kite is off now, with the command that switches it on. */
export function whatIsOff(world: ProcessContext): string[] {
  const now = world.now();
  const shown = {
    time: (at: number) => clock(at, now),
    path: (path: string) => tilde(path, world.env["HOME"] ?? ""),
  };
  return sentences(new OffSwitchReader(world.paths.home).read(), now, shown).map(clean);
}

/** Returns the switches that have not expired. */
export function stillOff<S extends OffSwitch>(all: ReadonlyMap<string, S>, now: number): Map<string, S> {
  return new Map([...all].filter(([, silence]) => isInForce(silence, now)));
}

function sentences(
  silenced: OffSwitches,
  now: number,
  shown: { readonly time: (at: number) => string; readonly path: (path: string) => string },
): string[] {
  const until = (silence: OffSwitch) => (silence.until === null ? "" : ` until ${shown.time(silence.until)}`);
  const said: string[] = [];
  if (silenced.all !== null && isInForce(silenced.all, now)) {
    said.push(
      `Kite is off everywhere${until(silenced.all)}: edits are not coordinated. Switch it on: kite on`,
    );
  }
  for (const [directory, silence] of stillOff(silenced.projects, now)) {
    const path = shown.path(directory);
    said.push(`Kite is off in ${path}${until(silence)}. Switch it on: kite on --project ${path}`);
  }
  for (const [id, silence] of stillOff(silenced.sessions, now)) {
    const name = silence.name ?? id.slice(0, 8);
    said.push(
      `Kite is off for session ${name}${until(silence)}. Switch it on: kite on --session ${id.slice(0, 8)}`,
    );
  }
  return said;
}
