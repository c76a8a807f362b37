/** Writes the files of `kite off` and `kite on`; daemon/config/off-switch.ts defines and reads them. */
import { mkdirSync, rmSync, utimesSync } from "node:fs";
import {
  isInForce,
  nothingOff,
  type OffSwitch,
  OffSwitchReader,
  offFiles,
  parseOffSwitches,
} from "../../daemon/config/off-switch.ts";
import { InstallFailed, readText, whileLocked, writeWhole } from "../../hooks/install/file.ts";
import { limits } from "../../protocol/limits.ts";
import { stillOff } from "./now.ts";

export type Scope =
  | { readonly is: "all" }
  | { readonly is: "project"; readonly directory: string }
  | { readonly is: "session"; readonly id: string; readonly name: string | null };

/** Switches Kite off in one scope, until a wall time in milliseconds or for good. Throws InstallFailed. */
export async function switchOff(
  home: string,
  scope: Scope,
  until: number | null,
  now: number,
): Promise<void> {
  mkdirSync(home, { recursive: true, mode: 0o700 });
  if (scope.is === "all") {
    const { all } = offFiles(home);
    // The file gets its time after it exists; until then readers treat it as expired.
    writeWhole(all, until === null ? "" : `${new Date(until).toISOString()}\n`, 0o600);
    if (until !== null) utimesSync(all, until / 1000, until / 1000);
    return;
  }
  await change(home, now, ({ projects, sessions }) => {
    if (scope.is === "project") projects.set(scope.directory, { until });
    else sessions.set(scope.id, { until, name: scope.name });
    if (projects.size + sessions.size > limits.silencedMax) {
      throw new InstallFailed(
        `Kite is already off for ${limits.silencedMax} projects and sessions, the most allowed; switch everything off: kite off`,
      );
    }
  });
}

/** Switches one scope on. Returns whether it was off; finds a session by its name or the beginning of its id. */
export async function switchOn(home: string, scope: Scope, now: number): Promise<boolean> {
  const { all, some } = offFiles(home);
  if (scope.is === "all") {
    const was = isInForce(new OffSwitchReader(home).read().all, now);
    rmSync(all, { force: true });
    return was;
  }
  if (readText(some, limits.settingsBytes) === null) return false;
  return change(home, now, ({ projects, sessions }) => {
    if (scope.is === "project") return projects.delete(scope.directory);
    const ids = [...sessions].filter(([id, { name }]) => name === scope.id || id.startsWith(scope.id));
    for (const [id] of ids) sessions.delete(id);
    return ids.length > 0;
  });
}

type Named = {
  readonly projects: Map<string, OffSwitch>;
  readonly sessions: Map<string, OffSwitch & { readonly name: string | null }>;
};

/** Rewrites `off.json` without expired entries. */
async function change<T>(home: string, now: number, work: (named: Named) => T): Promise<T> {
  const { some } = offFiles(home);
  return whileLocked(some, () => {
    const text = readText(some, limits.settingsBytes);
    const read = text === null ? nothingOff : parseOffSwitches(text);
    if (read === null) throw new InstallFailed(`${some} cannot be read; remove it, then try again`);
    const named = { projects: stillOff(read.projects, now), sessions: stillOff(read.sessions, now) };
    const result = work(named);
    if (named.projects.size + named.sessions.size === 0) {
      rmSync(some, { force: true });
      return result;
    }
    const { projects, sessions } = named;
    const whole = {
      version: 1,
      projects: Object.fromEntries(projects),
      sessions: Object.fromEntries(sessions),
    };
    writeWhole(some, `${JSON.stringify(whole, null, 2)}\n`, 0o600);
    return result;
  });
}
