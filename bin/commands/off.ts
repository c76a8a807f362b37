import { resolve } from "node:path";
import type { Command } from "commander";
import { NotRunning } from "../../client/errors.ts";
import { projectRoot } from "../../hooks/claude-code/settings/files.ts";
import { limits } from "../../protocol/limits.ts";
import { actingSession } from "../actor.ts";
import { agentCalled } from "../agent/named.ts";
import { whatIsOff } from "../off/now.ts";
import { type Scope, switchOff } from "../off/store.ts";
import { type RefuseOptions, refuseAgent } from "../person.ts";
import { type ProcessContext, print, printJson, type Run } from "../process-context.ts";
import { exitCodes, fail, Refused, rowsOf } from "../with-daemon.ts";

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
      if (found === null) return `no session is called ${session}; see kite status --sessions`;
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
