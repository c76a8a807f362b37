/** Trails that a home has before its daemon starts. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { decode, encode, fileName, type TrailLine } from "../../daemon/trail/line.ts";
import type { Home } from "../end-to-end/daemon.ts";

/** Writes the lines as the trail of a home that never had one. */
export function writeTrail(home: Home, lines: readonly TrailLine[]): void {
  mkdirSync(home.paths.trail, { recursive: true, mode: 0o700 });
  const text = lines.map(encode).join("");
  writeFileSync(join(home.paths.trail, fileName(1)), text, { mode: 0o600 });
}

/** What a home's daemon has written by now. */
export function trailOf(home: Home): readonly TrailLine[] {
  return readdirSync(home.paths.trail).flatMap(name =>
    readFileSync(join(home.paths.trail, name), "utf8")
      .split("\n")
      .flatMap(text => decode(text) ?? []),
  );
}

/** The same lines over `lengthMs`, the last one at `untilMs`: a day that took seconds takes hours. */
export function stretched(
  lines: readonly TrailLine[],
  { untilMs, lengthMs }: { readonly untilMs: number; readonly lengthMs: number },
): readonly TrailLine[] {
  const [first, last] = [lines[0]?.at ?? 0, lines.at(-1)?.at ?? 0];
  const factor = lengthMs / Math.max(1, last - first);
  const longer = (ms: number | undefined) => (ms === undefined ? {} : Math.round(ms * factor));
  return lines.map(line => {
    const { at, waitedMs, heldMs } = line;
    const times = { waitedMs: longer(waitedMs), heldMs: longer(heldMs) };
    const known = Object.fromEntries(Object.entries(times).filter(([, ms]) => typeof ms === "number"));
    return { ...line, at: Math.round(untilMs - (last - at) * factor), ...known };
  });
}

/** `count` lines of four busy agents over `lengthMs` until `untilMs`: holds, waits that end, denials, prompts, turns. */
export function busyTrail(
  project: string,
  {
    count,
    untilMs,
    lengthMs,
  }: { readonly count: number; readonly untilMs: number; readonly lengthMs: number },
): readonly TrailLine[] {
  const lines: TrailLine[] = [];
  const stepMs = lengthMs / count;
  for (let n = 0; lines.length < count; n += 1) {
    const [one, other] = [names[n % names.length] ?? "", names[(n + 1) % names.length] ?? ""];
    const file = `${project}/src/file-${n % 40}.ts`;
    const add = (name: string, more: Partial<TrailLine>) =>
      lines.push({
        ...{
          at: Math.round(untilMs - (count - lines.length) * stepMs),
          id: `busy-${name}`,
          agent: null,
          name,
          project,
        },
        ...{ event: "PreToolUse", type: "Edit", file, decision: "allow", rule: "lock" },
        ...more,
      });
    const hook = { type: null, file: null, decision: "event" } as const;
    add(one, { ...hook, event: "UserPromptSubmit" });
    add(one, {});
    add(other, {
      ...{ event: "lock_queued", type: null, decision: "wait" },
      why: `behind ${one}, queue position 1`,
    });
    if (n % 5 === 0) {
      const refusal = { code: "lock_timeout", why: "lock queue timeout (50s)", holder: one };
      add(other, { decision: "deny", waitedMs: stepMs, ...refusal });
    }
    const release = { event: "lock_released", type: "turn ended", decision: "note" } as const;
    add(one, { ...release, why: "its holder went idle", heldMs: 2 * stepMs });
    if (n % 5 !== 0) add(other, { waitedMs: 2 * stepMs });
    add(one, { ...hook, event: "Stop" });
    if (n % 5 !== 0) add(other, { ...release, why: "its holder went idle", heldMs: 2 * stepMs });
  }
  return lines.slice(0, count);
}

const names = ["ann", "ben", "cleo", "dan"];
