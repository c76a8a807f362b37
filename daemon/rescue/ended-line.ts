/** A shell line has ended: what it changed is kept, and what it wiped is noted. */

import { actorRow } from "../core/tables/naming.ts";
import { pathOfWork } from "../core/work/dirty-files.ts";
import type { HookServices } from "../hooks/hook-services.ts";
import type { EndedLine } from "../hooks/points.ts";
import { type Candidate, candidateOf } from "./losses.ts";
import type { Rescue, RescueServices } from "./services.ts";
import { tellWipe } from "./tell.ts";
import type { Author } from "./versions.ts";
import type { WipedFile } from "./wipes.ts";

/** Looks at it later, when all that was written before is kept. Until then the files of its worktree, and of those that it reached, are its own to explain. */
export function lineEnds(services: RescueServices, rescue: Rescue, line: EndedLine): void {
  const { ends } = rescue.compared;
  const own = services.engine.state.sessions.live.get(line.actor.session)?.worktree ?? "";
  const reached = [...rescue.lines.worktreesOf(line.toolUseId), ...line.changed.map(one => one.worktree)];
  const worktrees = new Set([own, ...reached]);
  for (const worktree of worktrees) ends.set(worktree, (ends.get(worktree) ?? 0) + 1);
  void rescue.later(async () => {
    try {
      await lineEnded(services, rescue, line);
    } finally {
      for (const worktree of worktrees) {
        const left = (ends.get(worktree) ?? 1) - 1;
        if (left === 0) ends.delete(worktree);
        else ends.set(worktree, left);
      }
    }
  });
}

/** Returns when all of it is kept and noted. Nobody waits for that. */
async function lineEnded(
  services: RescueServices,
  rescue: Rescue,
  { actor, toolUseId, program, changed, wallMs: atMs }: EndedLine,
): Promise<void> {
  const { engine } = services;
  const { archive, keeper, losses, lines } = rescue;
  const { id: session, agent, name } = actorRow(engine.state, actor);
  const by: Author = { session, agent, name };
  await archive.ready;
  const line = lines.ended(toolUseId);
  const candidates = new Map<string, Candidate>();
  for (const one of line?.candidates ?? []) candidates.set(one.path, one);
  // Looked up before anything new is kept: the latest version is what was there.
  for (const written of changed) {
    const path = pathOfWork(written);
    const work = engine.state.writes.files.get(written.key);
    const known = candidates.get(path) ?? candidateOf({ ...written, writers: work?.writers ?? [] });
    known.version ??= archive.versions.latestOf(path);
    candidates.set(path, known);
  }
  const lost: Loss[] = [];
  for (const candidate of candidates.values()) {
    if (isNotedGone(rescue, candidate.path)) continue;
    const loss = await losses.of(candidate, by);
    // An agent that changes its own lines loses none.
    const isOwnChange =
      loss?.how === "changed" && line === null && candidate.version?.by?.session === session;
    if (loss !== null && !isOwnChange) lost.push({ candidate, loss });
  }
  for (const written of changed) {
    const what = { path: pathOfWork(written), key: written.key, by, tool: program, kind: "write" } as const;
    await keeper.keep({ ...what, isEdit: false, session, text: null, atMs }, () => false);
  }
  const isNamed = (path: string) => line?.candidates.some(one => one.path === path) === true;
  const command = line?.command || program || "a shell line";
  await noteWipes(services, rescue, { by, command, atMs, isNamed }, lost);
}

/** What a file lost, with where it is. */
export interface Loss {
  readonly candidate: Pick<Candidate, "project" | "worktree">;
  readonly loss: WipedFile;
}

/** How files were wiped. */
interface Wiping {
  /** Null: no tool use explains it. */
  readonly by: Author | null;
  readonly command: string;
  readonly atMs: number;
  /** Whether the line named the file. */
  readonly isNamed: (path: string) => boolean;
}

/**
 * Whether the file is gone since its content was seen last, and that was noted: by a comparison, or by another line. What takes its
 * place is no further loss.
 */
export function isNotedGone(
  { keeper, compared }: Pick<Rescue, "keeper" | "compared">,
  path: string,
): boolean {
  return compared.gone.get(path) === (keeper.seen(path)?.stamp ?? "");
}

/** Notes what was wiped at once, a wipe for each worktree, and tells of it. */
export async function noteWipes(
  services: HookServices,
  { archive, keeper, compared }: Pick<Rescue, "archive" | "keeper" | "compared">,
  { isNamed, ...how }: Wiping,
  lost: readonly Loss[],
): Promise<void> {
  for (const { loss } of lost)
    if (loss.how === "gone") compared.gone.set(loss.path, keeper.seen(loss.path)?.stamp ?? "");
  for (const worktree of new Set(lost.map(({ candidate }) => candidate.worktree))) {
    const here = lost.filter(({ candidate }) => candidate.worktree === worktree);
    const [first] = here;
    if (first === undefined) continue;
    const files = here.map(({ loss }) => loss);
    const wipe = await archive.noteWipe({
      ...how,
      project: first.candidate.project,
      worktree,
      files,
      more: 0,
    });
    if (wipe !== null) await tellWipe(services, wipe, isNamed);
  }
}
