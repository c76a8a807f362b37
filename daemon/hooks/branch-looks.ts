/**
 * Tells the log which files the branches of sessions changed, for the machines that share their projects.
 *
 * Invariants: no event of an agent waits for it; a project that no other machine shares is not looked at; git is run only when
 * HEAD's log has changed since the last look at the session; a session has one look at a time, and one more after it at the most.
 */
import { limits } from "../../protocol/limits.ts";
import { BoundedMap } from "../bounded-map.ts";
import { isSame } from "../core/same-index.ts";
import type { Services } from "../services.ts";
import type { HookPart } from "./points.ts";

export class BranchLooks {
  /** What HEAD was like at the last look at a session, and whether its branch had changed files. */
  readonly #seen = new BoundedMap<string, { readonly mark: string; readonly isEmpty: boolean }>({
    entriesMax: limits.baselinesMax,
  });
  /** Sessions that are looked at; true: once more after that. */
  readonly #running = new Map<string, boolean>();
  readonly #onTrouble: (message: string, error: unknown) => void;

  constructor(onTrouble: (message: string, error: unknown) => void) {
    this.#onTrouble = onTrouble;
  }

  /** The session's branch may have other commits now. Resolves when the log has them; nobody has to wait for that. */
  async look(services: Services, session: string): Promise<void> {
    const { sessions, outbox } = services.engine.state;
    if (outbox.projects.size === 0 || !outbox.projects.has(sessions.live.get(session)?.project ?? "")) return;
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

  async #look({ engine, facts }: Services, id: string): Promise<void> {
    const session = engine.state.sessions.live.get(id);
    if (session === undefined) return;
    const { worktree, project, branch, begun } = session;
    const repository = await facts.repository(worktree);
    if ("unreachable" in repository || repository.gitDir === null) return;
    const { gitDir } = repository;
    const log = await facts.stamped(`${gitDir}/logs/HEAD`);
    const mark = JSON.stringify([begun, project, branch, gitDir, log?.stamp]);
    // Without a log of HEAD nothing shows that it is the same.
    const seen = this.#seen.get(id);
    // The log forgets the files of a session that goes to another branch, from which it may have come back.
    const isKnown = seen?.isEmpty === true || engine.state.branches.bySession.has(id);
    if (log?.stamp && seen?.mark === mark && isKnown) return;
    const files = await facts.branchFiles({ worktree, gitDir });
    if ("unreachable" in files) return;
    const now = engine.state.sessions.live.get(id);
    if (now === undefined || now.begun !== begun || now.project !== project || now.branch !== branch) return;
    this.#seen.set(id, { mark, isEmpty: files.length === 0 });
    const known = engine.state.branches.bySession.get(id)?.files ?? [];
    if (!isSame(known, files)) await engine.submitAndWait({ type: "branch_files", session: id, files });
  }
}

interface LookingServices extends Services {
  readonly branchLooks: BranchLooks;
}

/** An agent, or a person beside it, commits in a shell line, in a turn, or between two. */
export const branchPart: HookPart<LookingServices> = {
  prompted: (services, session) => void services.branchLooks.look(services, session),
  lineEnded: (services, { actor }) => void services.branchLooks.look(services, actor.session),
  turnOver: (services, session) => void services.branchLooks.look(services, session),
};
