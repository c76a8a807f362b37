/** One agent over random days: what is told has to agree with what it went through. */
import type { LifeSigns } from "../../daemon/facts/processes.ts";
import type { TranscriptEnd } from "../../hooks/seam/plan.ts";
import { Random } from "../simulation/random.ts";
import { HealthWorld, min, quietLook } from "./health-world.ts";

const kinds = [
  "signs",
  "idle",
  "dialog",
  "build",
  "grows",
  "tries",
  "silence",
  "called",
  "stopped",
  "failed",
  "frozen",
] as const;

/** Runs seeds from 1 on; returns what was wrong first, or null. */
export async function wrongOver(seeds: number): Promise<string | null> {
  for (let seed = 1; seed <= seeds; seed += 1) {
    const wrong = await wrongIn(new Random(seed));
    if (wrong !== null) return `seed ${seed}: ${wrong}`;
  }
  return null;
}

async function wrongIn(random: Random): Promise<string | null> {
  const w = new HealthWorld();
  w.begin("a");
  w.event("a", null, true);
  let alarms = 0;
  for (let n = 0; n < 25; n += 1) {
    const [before, began] = [w.told.length, w.clock.now()];
    const kind = random.pick(kinds);
    await live(w, kind, random);
    const told = w.told.slice(before);
    const alarmed = told.filter(said => said.startsWith("alarm")).length;
    const passedMs = w.clock.now() - began;
    const isIll = ["silence", "called", "stopped", "failed"].includes(kind);
    if (!isIll && alarmed > 0) return `an alarm although all was well: ${kind}`;
    if (isIll && passedMs >= (kind === "called" ? 55 : 20) * min && alarmed !== 1)
      return `${alarmed} alarms of one stall: ${kind}`;
    const soonest =
      { silence: 17 * min, called: 42 * min, stopped: 12 * min, failed: 5 * min }[String(kind)] ?? 0;
    if (isIll && passedMs < soonest && alarmed > 0) return `an alarm too soon: ${kind}`;
    if ((kind === "signs" || kind === "idle") && told.length > 0)
      return `told although all was well: ${kind}`;
    alarms += alarmed;
    w.watch.stopped("a", false);
    w.presence.of("a").dialogs.delete(null);
    w.event("a", null, true);
    if (!w.row("a").startsWith("working")) return `${w.row("a")} right after a sign`;
  }
  const backs = w.told.filter(said => said.startsWith("back")).length;
  return backs === alarms ? null : `${alarms} alarms and ${backs} times back`;
}

/** Lets the agent live through one phase. */
async function live(w: HealthWorld, kind: (typeof kinds)[number], random: Random): Promise<void> {
  const began = w.clock.now();
  w.found = () => quietLook;
  w.event("a", null, kind !== "idle" && kind !== "failed", kind === "failed");
  for (let i = kind === "signs" ? random.int(1, 20) : 0; i > 0; i -= 1) {
    await w.pass(random.int(1, 299_000));
    w.event("a", null);
  }
  if (kind === "dialog") w.presence.of("a").dialogs.set(null, { text: "permission", at: began });
  if (kind === "build") w.found = () => ({ ...transcript("tool", 1), childMs: w.clock.now() - began });
  if (kind === "called") w.found = () => transcript("tool", 1);
  if (kind === "grows") w.found = () => transcript("model", w.clock.now());
  if (kind === "tries") w.found = () => transcript("service", w.clock.now());
  if (kind === "stopped") w.watch.stopped("a", true);
  // The daemon itself was stopped, or the machine slept: its timers come late, and only then the events.
  if (kind === "frozen") {
    await w.pass(random.int(0, 16) * min);
    if (random.int(0, 1) === 0) w.clock.freeze(180 * min);
    else w.clock.sleep(180 * min);
    await w.pass(random.int(0, 11) * min);
  } else if (kind !== "signs") await w.pass(random.int(0, 70) * min);
}

/** A transcript that ends so and was written at this time, which is its size, too. */
function transcript(end: TranscriptEnd, at: number): LifeSigns {
  return { ...quietLook, transcript: { end, sizeBytes: at, changedAt: at } };
}
