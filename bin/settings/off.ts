/** `kite off` lets every edit through for a while; `kite on` undoes it. */

import { mkdirSync, rmSync, utimesSync } from "node:fs";
import { resolve } from "node:path";
import type { Command } from "commander";
import { NotRunning } from "../../client/errors.ts";
import {
  isInForce,
  nothingOff,
  type OffSwitch,
  OffSwitchReader,
  offFiles,
  parseOffSwitches,
} from "../../daemon/config/off-switch.ts";
import { projectRoot } from "../../hooks/claude-code/settings/files.ts";
import { InstallFailed, readText, whileLocked, writeWhole } from "../../hooks/install/file.ts";
import { limits } from "../../protocol/limits.ts";
import { actingSession } from "../context/actor.ts";
import { agentCalled, agentElsewhere } from "../context/caller.ts";
import { type RefuseOptions, refuseAgent } from "../context/person.ts";
import { type ProcessContext, print, printJson, type Run } from "../context/process-context.ts";
import { exitCodes, fail, Refused, rowsOf } from "../context/with-daemon.ts";
import { tilde } from "../view/places.ts";
import { clean } from "../view/text.ts";
import { stillOff, whatIsOff } from "./off-now.ts";

// Writes the files of `kite off` and `kite on`; daemon/config/off-switch.ts defines and reads them.

type Scope =
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

export interface OffFlags {
  readonly project?: string | true;
  readonly session?: string;
  readonly for?: string;
  readonly json?: boolean;
}

const help = `
Hooks stay installed but do nothing: Kite delays and refuses no edit. Without --project or --session Kite is off
everywhere. A session's edit locks still end when it has answered. For one shell: KITE=off. An agent's shell may switch off its
own session only.

--json: {"ok":true, "scope":"all"|"project"|"session", "name":STRING|null, "until":MS|null}

Exit codes: 0 done, 1 refused or failed.

Examples:
  $ kite off --for 1h
  Kite is off everywhere until 15:02:11. Switch it on: kite on
  $ kite off --session alice`;

export function add(command: Command, run: Run): void {
  command
    .description("let every edit through, everywhere, in one project or for one session")
    .option("--project [DIR]", "in the project around DIR (by default the working directory)")
    .option("--session <name>", "for this session: its name, or the beginning of its id")
    .option("--for <time>", "switch Kite on again after this time: 90s, 15m, 1h, 2d")
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action((flags: OffFlags) => run(world => off(world, flags)));
}

/** Switches Kite off in a scope; an agent does so for its own session only. Returns the exit code. */
export async function off(world: ProcessContext, flags: OffFlags, who: RefuseOptions = {}): Promise<number> {
  const json = flags.json === true;
  const now = world.now();
  const forMs = flags.for === undefined ? null : durationOf(flags.for);
  if (flags.for !== undefined && forMs === null) {
    const error = `--for takes a time like 90s, 15m, 1h or 2d, up to a year, not ${flags.for}`;
    return fail(world, json, "usage", error);
  }
  const scope = await scopeOf(world, flags);
  if (typeof scope === "string") return fail(world, json, "usage", scope);
  const refused = isOwn(world, scope) ? null : await refuseAgent(world, json, "off", who);
  if (refused !== null) return refused;
  // Whole seconds, because some file systems store no finer times.
  const until = forMs === null ? null : Math.ceil((now + forMs) / 1000) * 1000;
  await switchOff(world.paths.home, scope, until, now);
  if (json) printJson(world, { ok: true, scope: scope.is, name: nameOf(scope), until });
  else print(world, whatIsOff(world));
  return exitCodes.done;
}

/** Whether the scope is the session that the command runs in. */
function isOwn({ env }: ProcessContext, scope: Scope): boolean {
  return scope.is === "session" && scope.id === actingSession(env)?.id;
}

export function nameOf(scope: Scope): string | null {
  if (scope.is === "all") return null;
  return scope.is === "project" ? scope.directory : (scope.name ?? scope.id);
}

/** Returns the scope that the flags name, or what is wrong with them. A running daemon looks up a session's name. */
export async function scopeOf(
  world: ProcessContext,
  { project, session }: Pick<OffFlags, "project" | "session">,
): Promise<Scope | string> {
  if (project !== undefined && session !== undefined) return "say either --project or --session";
  if (session !== undefined) return sessionScope(world, session);
  if (project === undefined) return { is: "all" };
  return { is: "project", directory: projectRoot(resolve(world.cwd, project === true ? "." : project)) };
}

async function sessionScope(world: ProcessContext, session: string): Promise<Scope | string> {
  try {
    const client = await world.connect({ name: "kite", reconnect: false });
    try {
      const rows = await rowsOf(client, "sessions");
      const main = rows.map(({ id, name, project }) => ({ id, agent: null, name, project }));
      const found = await agentCalled(world, main, session);
      if (found === null) {
        const there = await agentElsewhere(client, session);
        return there?.message ?? `no session is called ${session}; see kite status --sessions`;
      }
      return { is: "session", id: found.id, name: found.name };
    } finally {
      client.close();
    }
  } catch (error) {
    if (error instanceof Refused) return error.message;
    // Without a daemon Kite cannot look up a name: the session must be a whole id.
    if (!(error instanceof NotRunning)) throw error;
    if (!/^[0-9a-f]{8}-[0-9a-f-]{27}$/.test(session)) {
      return `session ${session} cannot be looked up: ${error.message}; or give its whole id`;
    }
    return { is: "session", id: session, name: null };
  }
}

const units: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Returns `90s`, `15m` or `1h30m` in milliseconds; null if the text is no duration or longer than a year. */
export function durationOf(text: string): number | null {
  if (!/^(?:\d{1,9}[smhd])+$/.test(text)) return null;
  let ms = 0;
  for (const [, count, unit = ""] of text.matchAll(/(\d+)([smhd])/g))
    ms += Number(count) * (units[unit] ?? 0);
  return ms > 0 && ms <= limits.offForMs ? ms : null;
}

type OnFlags = Omit<OffFlags, "for">;

const helpOn = `
Without options Kite is on again here: everywhere, and in the project around the working directory. With options this
command undoes the \`kite off\` that had the same ones. It lists the scopes in which Kite is still off.

--json: {"ok":true, "scope":"all"|"project"|"session", "name":STRING|null, "was":"off"|"on", "stillOff":[...]}

Exit codes: 0 done, 1 refused or failed.

Example:
  $ kite on
  Kite is on.`;

export function addOn(command: Command, run: Run): void {
  command
    .option("--project [DIR]", "in the project around DIR (by default the working directory)")
    .option("--session <name>", "for this session: its name, or the beginning of its id")
    .option("--json", "print one JSON object")
    .addHelpText("after", helpOn)
    .action((flags: OnFlags) => run(world => on(world, flags)));
}

/** Returns the exit code. */
export async function on(world: ProcessContext, { json, ...flags }: OnFlags): Promise<number> {
  // The session may have ended, so its name is looked up in the file that `kite off` wrote.
  const scope =
    flags.session === undefined || flags.project !== undefined
      ? await scopeOf(world, flags)
      : ({ is: "session", id: flags.session, name: null } as const);
  if (typeof scope === "string") return fail(world, json === true, "usage", scope);
  const ended = await switchScopesOn(world, scope);
  const stillOff = whatIsOff(world);
  const [first = scope] = ended;
  if (json) {
    const was = ended.length > 0 ? "off" : "on";
    printJson(world, { ok: true, scope: first.is, name: nameOf(first), was, stillOff });
    return exitCodes.done;
  }
  const texts = ended.length > 0 ? ended.map(one => `Kite is on${where(one, world)}.`) : [notOff(scope)];
  print(world, [...texts, ...stillOff]);
  return exitCodes.done;
}

/** Switches Kite on in `scope`; if that is everywhere, also in the project one stands in. Returns where it was off. */
async function switchScopesOn(world: ProcessContext, scope: Scope): Promise<readonly Scope[]> {
  const here = scope.is === "all" ? await scopeOf(world, { project: true }) : null;
  const ended: Scope[] = [];
  for (const one of [scope, here])
    if (one !== null && typeof one !== "string" && (await switchOn(world.paths.home, one, world.now())))
      ended.push(one);
  return ended;
}

function where(scope: Scope, world: ProcessContext): string {
  if (scope.is === "all") return "";
  return scope.is === "session" ? " for it" : ` in ${clean(tilde(scope.directory, world.env["HOME"] ?? ""))}`;
}

function notOff(scope: Scope): string {
  if (scope.is === "session") return `Kite was not off for a session called ${clean(scope.id)}.`;
  return `Kite was not off${scope.is === "project" ? " there" : ""}.`;
}
