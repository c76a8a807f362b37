/** The agents' clients that Kite can connect. Another one gets a row here, and a file beside this one. */
import { InstallFailed } from "../../hooks/install/file.ts";
import type { ProcessContext } from "../process-context.ts";
import { claudeCode } from "./claude-code.ts";
import type { AgentClient, Disconnected, Place } from "./client.ts";
import { codex } from "./codex.ts";
import { copilot } from "./copilot.ts";
import { gemini } from "./gemini.ts";
import { gitHook } from "./git.ts";
import { opencode } from "./opencode.ts";

/** In the order of questions and lists. The first one is connected where nobody names or is asked for one. */
export const clients: readonly [AgentClient, ...AgentClient[]] = [
  claudeCode,
  codex,
  opencode,
  copilot,
  gemini,
  gitHook,
];

const all = "all";

/** What `--client` takes. */
export const clientNames: readonly string[] = [...clients.map(({ name }) => name), all];

/** Returns the clients of these names, in the order of the list; `all` stands for every one that nobody needs to name. */
export function clientsNamed(names: readonly string[]): readonly AgentClient[] {
  return clients.filter(({ name, isByName }) => names.includes(name) || (names.includes(all) && !isByName));
}

/** Returns the clients to connect: `all` stands for those that are here. Throws InstallFailed if none is. */
export function clientsToConnect(world: ProcessContext, names: readonly string[]): readonly AgentClient[] {
  const found = clientsNamed(names).filter(
    client => names.includes(client.name) || client.find(world) !== null,
  );
  if (found.length > 0) return found;
  const known = clients.map(({ name }) => name).join(", ");
  throw new InstallFailed(
    `no client is here of those that Kite knows: ${known}; to connect one all the same, name it, as in kite install --client ${clients[0].name}`,
  );
}

/** Returns the clients that are here, and that nobody needs to name. */
export function clientsHere(world: ProcessContext): readonly AgentClient[] {
  return clients.filter(client => client.isByName !== true && client.find(world) !== null);
}

/** Returns the clients that an uninstall without a name is for: those that a person names go with everything, or by name. */
export function unnamedFor({ scope }: Place): readonly AgentClient[] {
  return clients.filter(({ isByName }) => scope === "all" || isByName !== true);
}

/** Disconnects these clients, one after the other. `isNamed`: it is said of each that had nothing of Kite's, too. */
export async function disconnectAll(
  world: ProcessContext,
  chosen: readonly AgentClient[],
  from: Place,
  isNamed: boolean,
): Promise<Disconnected> {
  const done: Disconnected[] = [];
  for (const client of chosen) {
    const one = await client.disconnect(world, from);
    const isSaid = isNamed || client === clients[0];
    done.push(
      isSaid ? one : { ...one, results: one.results.filter(({ result }) => result !== "nothing_there") },
    );
  }
  return {
    results: done.flatMap(({ results }) => results),
    tools: done.flatMap(({ tools }) => tools),
    left: done.flatMap(({ left }) => left),
    plugins: done.flatMap(({ plugins }) => plugins),
    notes: done.flatMap(({ notes = [] }) => notes),
    failures: done.flatMap(({ failures }) => failures),
  };
}
