/** What the flags of `kite install` ask for: which clients, and what for each. */
import { resolve } from "node:path";
import { loadConfig } from "../../daemon/config/config.ts";
import { InstallFailed } from "../../hooks/install/file.ts";
import type { HookProgram } from "../../hooks/install/hooks-text.ts";
import type { ProcessContext } from "../context/process-context.ts";
import { writeSetting } from "../settings/config.ts";
import { dist } from "../version.ts";
import { listed } from "../view/text.ts";
import type { AgentClient, ClientOption, Connection, Wish } from "./client.ts";
import { clients, clientsToConnect } from "./clients.ts";
import { chooseHookProgram, hookPrograms } from "./hook-program.ts";
import type { InstallDone } from "./words.ts";

export interface InstallFlags {
  readonly project?: string | true;
  readonly shared?: string | true;
  /** Names of clients; the older form of `hookProgram`, too. */
  readonly client?: readonly string[];
  readonly hookProgram?: HookProgram;
  readonly everyEvent?: boolean;
  /** False with --no-mcp. */
  readonly mcp: boolean;
  readonly allow?: boolean;
  readonly statusline?: boolean;
  readonly observe?: boolean;
  readonly trust?: boolean;
  readonly print?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
}

/** An install as the flags ask for it; nothing is written yet. */
export interface Order {
  readonly wish: Wish;
  /** The clients that the person named; null: none. */
  readonly named: readonly AgentClient[] | null;
  /** Kite shall only observe. */
  readonly observe: boolean;
  /** The person has the clients trust Kite's hooks. */
  readonly trust: boolean;
}

const optionWords: Readonly<Record<ClientOption, string>> = {
  allow: "--allow",
  everyEvent: "--every-event",
  statusline: "--statusline",
};

/** Returns what the flags ask for. Throws InstallFailed if they do not fit together, or no hook program works. */
export async function orderOf(world: ProcessContext, flags: InstallFlags): Promise<Order> {
  const { project, shared } = flags;
  const observe = flags.observe === true;
  if (project !== undefined && shared !== undefined)
    throw new InstallFailed(
      "give either --project (for you) or --shared (for the team); Kite changed nothing",
    );
  if (flags.statusline === true && shared !== undefined)
    throw new InstallFailed("the status line is your own: run kite install --statusline without --shared");
  if (observe && shared !== undefined)
    throw new InstallFailed(
      "--observe is a setting of your own: run kite install --observe without --shared",
    );
  const scope = shared !== undefined ? "shared" : project !== undefined ? "project" : "user";
  const { names, hookProgram } = namesOf(flags);
  const named = names.length === 0 ? null : clientsToConnect(world, names);
  const folder = shared ?? project ?? true;
  const wish = {
    scope,
    dir: resolve(world.cwd, folder === true ? "." : folder),
    program: await chooseHookProgram(hookProgram, dist),
    tools: flags.mcp && !observe,
    allow: flags.allow === true,
    everyEvent: flags.everyEvent === true,
    statusline: flags.statusline === true,
  } as const;
  refuseUnfit(wish, named ?? clients.slice(0, 1));
  const trust = flags.trust === true;
  if (trust && !(named ?? []).some(client => client.trust !== undefined)) {
    const those = clients.filter(client => client.trust !== undefined);
    throw new InstallFailed(
      `--trust is for clients that ask a person about hooks; name one: kite install --client ${those[0]?.name} --trust`,
    );
  }
  return { wish, named, observe, trust };
}

/** The values of --client that are hook programs are its older form. */
function namesOf({ client = [], hookProgram }: InstallFlags): {
  readonly names: readonly string[];
  readonly hookProgram: HookProgram | undefined;
} {
  const isProgram = (name: string): name is HookProgram => hookPrograms.some(one => one === name);
  return {
    names: client.filter(name => !isProgram(name)),
    hookProgram: hookProgram ?? client.find(isProgram),
  };
}

/** Throws if a client cannot be connected for this scope, or an option means nothing to any of them. */
function refuseUnfit(wish: Wish, chosen: readonly AgentClient[]): void {
  const { scope } = wish;
  const unfit = chosen.find(({ scopes }) => !scopes.includes(scope));
  if (unfit !== undefined) {
    const line = unfit.scopes.includes("user")
      ? `kite install --client ${unfit.name} connects it in all projects`
      : `kite install --client ${unfit.name} --${unfit.scopes[0]} connects it`;
    throw new InstallFailed(`${unfit.title} cannot be connected with --${scope}; ${line}`);
  }
  for (const [option, word] of Object.entries(optionWords) as [ClientOption, string][]) {
    if (!wish[option] || chosen.some(({ options }) => options.includes(option))) continue;
    const those = clients.filter(({ options }) => options.includes(option)).map(({ title }) => title);
    throw new InstallFailed(`${word} is an option for ${listed(those, 0)}; leave it out`);
  }
}

/** Connects one client. Throws InstallFailed as its `connect` does. */
export async function connect(world: ProcessContext, connection: Connection): Promise<InstallDone> {
  const { env, paths } = world;
  const done = await connection.connect();
  const { values } = await loadConfig({ env, paths });
  return values.mode === "observe" ? { ...done, mode: "observe" } : done;
}

/** Before the hooks, so that none of them holds anybody up. */
export async function observeFirst(world: ProcessContext, { observe }: Order): Promise<void> {
  if (observe) await writeSetting(world, "mode", "observe");
}
