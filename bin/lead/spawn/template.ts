/** Other agents' clients: by the words of a command in the user's own configuration, else by what Kite knows of the client. */
import { loadConfig } from "../../../daemon/config/config.ts";
import { clientName } from "../../../hooks/claude-code/spawn.ts";
import { asksForTrust, clientName as codexName } from "../../../hooks/install/codex.ts";
import type { TerminalOrder } from "../../../hooks/seam/plan.ts";
import type { KitePaths } from "../../../protocol/paths.ts";
import { nearest } from "../../../protocol/text.ts";
import { knownClients } from "../../clients/here.ts";
import { type Env, neededProgram, ProgramFailed } from "../../programs.ts";
import type { Place } from "./git.ts";
import { terminalClients } from "./terminal-clients.ts";

/** What the words of a command may name, in braces. */
export interface Filled {
  readonly prompt: string;
  readonly name: string;
  readonly briefing: string;
  readonly model: string | null;
  readonly role: string | null;
  readonly task: string | null;
  readonly place: Place | null;
}

export interface Template {
  /** The client's hooks tell which session the agent is; else Kite registers one for it. */
  readonly isHooked: boolean;
  /** What a person is to know of the client before the agent of this name works, as a sentence; null: nothing. */
  readonly warning: (agent: string) => string | null;
  /**
   * Returns the command's words. A word that is only a placeholder without a value is left out; one that only its value
   * makes begin with `-` gets a blank before it, so that no client takes it for an option.
   */
  readonly words: (filled: Filled) => string[];
}

/** Returns the template of a client; null for Claude Code, which needs none. Throws `ProgramFailed` for an unknown one. */
export async function templateOf(
  client: string,
  { env, cwd, paths }: { readonly env: Env; readonly cwd: string; readonly paths: KitePaths },
): Promise<Template | null> {
  if (client === clientName) return null;
  // The user's file alone: a project's may name no program.
  const { values } = await loadConfig({ env, paths });
  const words = Object.hasOwn(values.spawn, client) ? values.spawn[client] : undefined;
  const own = terminalClients.find(({ name }) => name === client);
  if (words === undefined && own !== undefined) {
    const program = neededProgram(own.program, env, cwd);
    const isHooked = knownClients.some(one => one.name === client && one.isConnected({ env, paths }));
    const asks = client === codexName && asksForTrust(paths, env);
    const warning = (agent: string) => {
      if (!isHooked)
        return `${client} is not connected to Kite, so nothing holds its edits back; connect it: kite install --client ${client}`;
      if (!asks) return null;
      return `${client} does not trust Kite's hooks yet, so ${agent} begins only when somebody answers its question in its window: kite agents attach ${agent}. It no longer asks after kite install --client ${client} --trust`;
    };
    return { isHooked, warning, words: filled => [program, ...own.words(orderFor(filled))] };
  }
  if (words === undefined) {
    const known = [clientName, ...terminalClients.map(({ name }) => name), ...Object.keys(values.spawn)];
    const meant = nearest(client, known);
    const hint = meant === null ? `known are ${known.join(", ")}` : `did you mean ${meant}?`;
    throw new ProgramFailed(`no client is called ${client}; ${hint}. Add it to spawn in ${paths.config}`);
  }
  const [first = "", ...rest] = words;
  const program = first.includes("/") ? first : neededProgram(first, env, cwd);
  return { isHooked: false, warning: () => null, words: filled => [program, ...wordsOf(rest, filled)] };
}

/** These clients have no place for a system prompt of one session: the briefing comes behind the prompt. */
function orderFor({ name, prompt, briefing, model }: Filled): TerminalOrder {
  const text = `${prompt}\n\n${briefing}`;
  return { name, prompt: text.startsWith("-") ? ` ${text}` : text, model };
}

function wordsOf(words: readonly string[], filled: Filled): string[] {
  const { prompt, name, briefing, model, role, task, place } = filled;
  const values: Readonly<Record<string, string>> = {
    ...{ prompt, name, briefing, model: model ?? "", role: role ?? "", task: task ?? "" },
    ...{ worktree: place?.worktree ?? "", branch: place?.branch ?? "" },
  };
  return words.flatMap(word => {
    const argument = word.replace(/\{(\w+)\}/g, (whole, key: string) => values[key] ?? whole);
    if (argument === "" && word !== "") return [];
    // The user's own words alone are options: an agent or a task may have written the value.
    return [argument.startsWith("-") && !word.startsWith("-") ? ` ${argument}` : argument];
  });
}
