/** The actions of gates, and of a client's own teams. */

import type { AliasedUse, ShellUse } from "../../../protocol/guard.ts";
import { type ActionTraits, plain, telling } from "../action-traits.ts";
import type { TeamCall } from "../teams.ts";

export type LeadAction =
  | {
      /** Ask the gates before the actor writes a file; comes before the file's lock. */
      readonly do: "gate_write";
      readonly session: string;
      readonly agent?: string;
      readonly pid?: number;
      readonly file: string;
      readonly cwd: string;
      /** The client's own file, for example a plan of its plan mode: no gate is asked. */
      readonly isOwn: boolean;
    }
  | {
      /** Ask the gates before a shell line wipes or changes the files that it names, or a patch its files; comes before the guard. */
      readonly do: "gate_files";
      readonly session: string;
      readonly agent?: string;
      readonly pid?: number;
      readonly cwd: string;
      /** Absolute, or below `cwd`. */
      readonly files: readonly string[];
      /** Files that are not there yet count, too: the tool makes them. */
      readonly hasNewFiles?: true;
    }
  | {
      /** Ask the gates before the actor runs a shell line; comes before the guard. */
      readonly do: "gate_shell";
      readonly session: string;
      readonly agent?: string;
      readonly pid?: number;
      readonly cwd: string;
      readonly uses: readonly ShellUse[];
      /** Names that git does not have; each may stand for further uses. */
      readonly aliases: readonly AliasedUse[];
    }
  | {
      /** Ask the gates before the actor stops; comes before the end of its turn. */
      readonly do: "gate_stop";
      readonly session: string;
      readonly agent?: string;
      readonly pid?: number;
    }
  | {
      /** Ask the gates before a task of the client's own list counts as completed. */
      readonly do: "gate_complete";
      readonly session: string;
      readonly agent?: string;
      readonly pid?: number;
      /** The actor's directory; null if the event does not say. */
      readonly cwd: string | null;
    }
  | {
      /** Ask the rules of the client's own teams before the actor's call. */
      readonly do: "gate_team";
      readonly session: string;
      readonly agent?: string;
      readonly pid?: number;
      /** The agent's own name, if it is a teammate within its lead's process. */
      readonly name: string | null;
      readonly call: TeamCall;
      /** As for `lock`: a subagent and the agent that began it are one worker. */
      readonly ancestors: readonly (string | null)[];
      readonly parentFile: string | null;
    }
  | {
      /** A person is asked about a call that the rules let through (`asked`), or the call did not run. */
      readonly do: "team_call_open";
      readonly session: string;
      readonly agent?: string;
      readonly call: TeamCall;
      readonly asked: boolean;
    };

const gate = { ...telling, holdsBack: true } as const;

export const leadTraits = {
  gate_write: gate,
  gate_files: gate,
  gate_shell: gate,
  gate_stop: gate,
  gate_complete: gate,
  gate_team: gate,
  team_call_open: plain,
} as const satisfies { readonly [D in LeadAction["do"]]: ActionTraits };
