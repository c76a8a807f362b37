/**
 * Tells the log which files the branches of sessions changed, for the machines that share their projects: in commits, and by writes
 * of the session that are not committed.
 *
 * Invariants: no event of an agent waits for it; a project that no other machine shares is not looked at; git is run only when
 * HEAD's log has changed since the last look at the session, and for files that the session wrote and had not committed by then;
 * a session has one look at a time, and one more after it at the most. A write that is in the log has a look behind it, and however
 * quick the writes are, theirs are `limits.branchLookPauseMs` apart.
 */
import { limits } from "../../protocol/limits.ts";
import { BoundedMap } from "../bounded-map.ts";
import { type BranchFile, uncommitted } from "../core/branches/table.ts";
import { isSame } from "../core/frame/records.ts";
import type { Session } from "../core/tables/sessions.ts";
import type { Listener } from "../engine/listeners.ts";
import { firstFiles } from "../facts/git/branch-files.ts";
import type { GitPlace } from "../facts/git/process.ts";
import type { FileState } from "../facts/git/status.ts";
import type { Services } from "../services.ts";
import { lookAt } from "../worktree/uncommitted.ts";
import type { HookPart } from "./points.ts";

export class BranchLooks {
  /** What HEAD was like at the last look at a session, and the files that its commits changed. */
  readonly #seen = new BoundedMap<string, { readonly mark: string; readonly files: readonly BranchFile[] }>({
    entriesMax: limits.branchLooksMax,
  });
  /** When a session was looked at last, as `clock.now()`. */
  readonly #lookedAtMs = new BoundedMap<string, number>({ entriesMax: limits.branchLooksMax });
  /** Sessions whose writes wait for a look. */
  readonly #waiting = new Set<string>();
  /** Sessions that are looked at; true: once more after that. */
  readonly #running = new Map<string, boolean>();
  readonly #onTrouble: (message: string, error: unknown) => void;

  constructor(onTrouble: (message: string, error: unknown) => void) {
    this.#onTrouble = onTrouble;
  }

  /** The session's branch may have other commits now. Resolves when the log has them; nobody has to wait for that. */
  async look(services: Services, session: string): Promise<void> {
    if (!isShared(services, session)) return;
    if (this.#running.has(session)) {
      this.#running.set(session, true);
      return;
    }
    try {
      do {
        this.#running.set(session, false);
        await this.#look(services, session);
      } while (this.#running.get(session) === true);
    } catch (error) {
      this.#onTrouble("a look at the files of a branch failed", error);
    } finally {
      this.#running.delete(session);
    }
  }

  /** The log has a write of the session: a look follows, at once if the last one was long ago. */
  wrote(services: Services, session: string): void {
    if (this.#waiting.has(session) || !isShared(services, session)) return;
    this.#waiting.add(session);
    const { clock } = services;
    const lastMs = this.#lookedAtMs.get(session) ?? Number.NEGATIVE_INFINITY;
    clock.at(Math.max(clock.now(), lastMs + limits.branchLookPauseMs), () => {
      this.#waiting.delete(session);
      void this.look(services, session);
    });
  }

  async #look(services: Services, id: string): Promise<void> {
    const { engine, facts, clock } = services;
    this.#lookedAtMs.set(id, clock.now());
    const session = engine.state.sessions.live.get(id);
    if (session === undefined) return;
    const { worktree, project, branch, begun } = session;
    const repository = await facts.repository(worktree);
    if ("unreachable" in repository || repository.gitDir === null) return;
    const place = { worktree, gitDir: repository.gitDir };
    // In this order a file that is committed meanwhile is in one of the two, or in both.
    const work = await workOf(services, session, place);
    const commits = work === null ? null : await this.#commits(services, session, place);
    if (work === null || commits === null) return;
    const now = engine.state.sessions.live.get(id);
    if (now === undefined || now.begun !== begun || now.project !== project || now.branch !== branch) return;
    const inWork = new Set(work.map(([file]) => file));
    const files = firstFiles([...work, ...commits.filter(([file]) => !inWork.has(file))]);
    const known = engine.state.branches.bySession.get(id)?.files ?? [];
    if (!isSame(known, files)) await engine.submitAndWait({ type: "branch_files", session: id, files });
  }

  /** Returns the files that the commits of the session's branch changed; null: they cannot be told now. */
  async #commits(
    { facts }: Services,
    { id, project, branch, begun }: Session,
    place: GitPlace,
  ): Promise<readonly BranchFile[] | null> {
    const log = await facts.stamped(`${place.gitDir}/logs/HEAD`);
    const mark = JSON.stringify([begun, project, branch, place.gitDir, log?.stamp]);
    const seen = this.#seen.get(id);
    // Without a log of HEAD nothing shows that it is the same.
    if (log?.stamp && seen?.mark === mark) return seen.files;
    const files = await facts.branchFiles(place);
    if ("unreachable" in files) return null;
    this.#seen.set(id, { mark, files });
    return files;
  }
}

/** Whether another machine may hear of the session's files. */
function isShared({ engine }: Services, session: string): boolean {
  const { sessions, outbox } = engine.state;
  return outbox.projects.size > 0 && outbox.projects.has(sessions.live.get(session)?.project ?? "");
}

/** Returns the files of its worktree with work of the session that is not committed, by name; null: git does not tell now. */
async function workOf(
  services: Services,
  { id, worktree, project }: Session,
  place: GitPlace,
): Promise<readonly BranchFile[] | null> {
  const { files, byWriter } = services.engine.state.writes;
  const written = [...(byWriter.get(id) ?? [])].flatMap(key => {
    const work = files.get(key);
    return work?.worktree === worktree && work.project === project ? [work.file] : [];
  });
  const { states, unseen } = await lookAt(services, place, written.sort());
  if (states.size === 0 && unseen !== null) return null;
  const isWork = ({ staged, changed, untracked }: FileState) => staged || changed || untracked;
  return [...states].flatMap(([file, state]) => (isWork(state) ? [[file, uncommitted] as const] : []));
}

export interface LookingServices extends Services {
  readonly branchLooks: BranchLooks;
}

/** An agent, or a person beside it, commits in a shell line, in a turn, or between two. */
export const branchPart: HookPart<LookingServices> = {
  prompted: (services, session) => void services.branchLooks.look(services, session),
  lineEnded: (services, { actor }) => void services.branchLooks.look(services, actor.session),
  turnOver: (services, session) => void services.branchLooks.look(services, session),
};

/** A turn may have edits alone, for as long as it lasts, and an agent without hooks has no turns. */
export function looksAfterWrites(services: LookingServices): Listener {
  return {
    commands: ["flight_end", "writes_noted"],
    stepped: ({ command }) => {
      if ((command.type === "flight_end" || command.type === "writes_noted") && command.noted !== undefined)
        services.branchLooks.wrote(services, command.actor.session);
    },
  };
}
