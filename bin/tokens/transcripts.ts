/** Where the client keeps the transcripts of sessions and their agents: below its own folder alone. */
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { userSettings } from "../../hooks/claude-code/settings/files.ts";
import { isSystemError } from "../../protocol/errors.ts";
import type { Env } from "../programs.ts";

/** The files of a session: its own, and those of its agents by their ids. */
export interface Transcripts {
  readonly own: readonly string[];
  readonly agents: ReadonlyMap<string, readonly string[]>;
}

/** Folders of the client that are looked into, and agents of a session that are counted. */
const foldersMax = 5_000;
const agentsMax = 500;

const isId = /^[\w-]+$/;

/** Finds transcripts; the client's folders are read once. A session that moved to another worktree has files in several. */
export class TranscriptFolders {
  readonly #folders: readonly { readonly path: string; readonly names: ReadonlySet<string> }[];

  constructor(env: Env) {
    const projects = join(dirname(userSettings(env)), "projects");
    this.#folders = namesIn(projects)
      .slice(0, foldersMax)
      .map(name => ({ path: join(projects, name), names: new Set(namesIn(join(projects, name))) }));
  }

  of(session: string): Transcripts {
    const own: string[] = [];
    const agents = new Map<string, string[]>();
    if (!isId.test(session)) return { own, agents };
    for (const { path, names } of this.#folders) {
      if (names.has(`${session}.jsonl`)) own.push(join(path, `${session}.jsonl`));
      if (!names.has(session)) continue;
      const below = join(path, session, "subagents");
      for (const name of namesIn(below)) {
        const [, agent] = /^agent-([\w-]+)\.jsonl$/.exec(name) ?? [];
        if (agent === undefined || (agents.size >= agentsMax && !agents.has(agent))) continue;
        agents.set(agent, [...(agents.get(agent) ?? []), join(below, name)]);
      }
    }
    return { own, agents };
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    // The client was never used, or keeps nothing there.
    if (isSystemError(error)) return [];
    throw error;
  }
}
