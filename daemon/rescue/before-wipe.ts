/** Keeps what a shell line is about to wipe, before its hook is answered: the only part that a hook waits for. */
import type { HookOutcome } from "../../hooks/seam/slices.ts";
import { limits } from "../../protocol/limits.ts";
import type { Actor } from "../core/actor.ts";
import type { DirtyFile } from "../core/base-state.ts";
import type { Lineage } from "../core/sessions/kinship.ts";
import { type ActionOf, actorOfAction, ancestorsOf, type Run } from "../hooks/action.ts";
import { settleGrants } from "../hooks/grants.ts";
import { aliasedBy } from "../hooks/guard/alias.ts";
import { lineKey } from "../hooks/guard/confirmations.ts";
import { releaseIndexes } from "../hooks/guard/guard.ts";
import { placesOf } from "../hooks/guard/places.ts";
import { releaseLineEdits } from "../hooks/guard/plain-files.ts";
import { worksAt } from "../hooks/guard/wiped-work.ts";
import { stops } from "../hooks/verdict.ts";
import { decidedBy } from "../trail/decisions.ts";
import { isWithin } from "../worktree/pathspec.ts";
import { worksIn } from "../worktree/uncommitted.ts";
import { type Candidate, candidateOf } from "./losses.ts";
import { type Rescue, type RescueServices, withinMs } from "./services.ts";

type KeepWork = ActionOf<"keep_work">;

interface RescueRun extends Run {
  readonly services: RescueServices;
}

/** A file that the line may wipe, with the command that does. */
interface Coming {
  readonly command: string;
  readonly work: DirtyFile;
}

/** Null: all of it is kept, or cannot be. */
export async function keepWork(run: RescueRun, asked: KeepWork): Promise<HookOutcome | null> {
  const { services, scope, delivery } = run;
  const { rescue, settings, observes, clock, guardConfirmations } = services;
  const { treeGuard } = settings.values;
  // Without known work nothing can be lost that Kite could keep.
  if (rescue == null || services.engine.state.writes.files.size === 0) return null;
  const actor = actorOfAction(run, asked);
  const coming = await comingWipes(services, { actor, ancestors: await ancestorsOf(services, asked) }, asked);
  if (coming.length === 0) return null;
  const candidates = coming.map(({ work }) => candidateOf(work));
  rescue.lines.began(asked.toolUseId, {
    session: asked.session,
    command: coming[0]?.command ?? "",
    candidates,
  });
  const late = new Map(coming.map(({ work, ...one }, i) => [candidates[i]?.path ?? "", { ...one, work }]));
  const keeping = keepAll(services, rescue, coming, candidates, path => void late.delete(path));
  // Where Kite holds nobody up, the line and the copies run side by side.
  if (observes || treeGuard === "off") return null;
  const leftMs = scope.answerByMs - limits.firstByteMs - clock.now();
  await withinMs(keeping, Math.max(0, Math.min(limits.rescueWipeWaitMs, leftMs)));
  if (late.size === 0) return null;
  const line = lineKey(actor, asked.cwd, `keep ${asked.typed}`);
  const versions = new Map([...late.keys()].map(path => [path, "not kept"]));
  if (guardConfirmations.isConfirmed(line, versions, asked.toolUseId, clock.now())) return null;
  delivery.whenTold(heard => {
    if (heard) guardConfirmations.told(line, versions, asked.toolUseId, clock.now());
  });
  const files = [...late.keys()].slice(0, limits.rescueNamedMax);
  const verdict = treeGuard === "deny" ? "deny" : "allow_with_note";
  if (stops(services, verdict)) await stopLine(run, asked, actor, late);
  return { did: "keep_work", ok: true, verdict, files, more: late.size - files.length };
}

/** The line will not run: it gives back what it was granted, and the trail has its denial. */
async function stopLine(
  { services, plan, grants }: RescueRun,
  asked: KeepWork,
  actor: Actor,
  late: ReadonlyMap<string, Coming>,
): Promise<void> {
  const [[file, { command: type }] = [null, { command: "a command" }]] = late;
  const line = { ...decidedBy(services, actor), event: plan.event, type, file, rule: "rescue" };
  const others = late.size === 1 ? "" : ` and in ${late.size - 1} more`;
  const why = `wipes uncommitted work in it${others}, and Kite has no copy yet`;
  settleGrants(grants, false);
  if (services.notedDecisions.isFirst(asked, "rescue deny"))
    services.recorder.note({ ...line, decision: "deny", why });
  await releaseLineEdits(services, actor, asked.toolUseId);
  await releaseIndexes(services, actor, asked.toolUseId);
}

/** The files with uncommitted work in reach of the line, whose ever it is; at most `limits.rescueWipeFilesMax`. */
async function comingWipes(
  services: RescueServices,
  me: Lineage,
  asked: KeepWork,
): Promise<readonly Coming[]> {
  const found = new Map<string, Coming>();
  for (const one of await worksAt(services, asked.wiped)) found.set(one.work.key, one);
  const guarded = { ...asked, do: "guard", unread: null, line: "" } as const;
  const commands = [...asked.commands, ...(await aliasedBy(services, guarded))];
  const { placed } = await placesOf(
    services,
    me,
    guarded,
    commands.filter(({ reach }) => reach === "tree"),
  );
  for (const { command, place, base } of placed) {
    const { paths, name } = command;
    for (const work of worksIn(services, place.worktree)) {
      const isReached = paths === null || isWithin(work.file, paths, base, place.worktree);
      if (isReached && !found.has(work.key)) found.set(work.key, { command: name, work });
    }
  }
  return [...found.values()].slice(0, limits.rescueWipeFilesMax);
}

/** Keeps each file whose content is not kept; `done` hears of each that is kept, or that a rule does not let be kept. */
async function keepAll(
  { facts, clock }: RescueServices,
  { archive, keeper }: Rescue,
  coming: readonly Coming[],
  candidates: readonly Candidate[],
  done: (path: string) => void,
): Promise<void> {
  await archive.ready;
  for (const [i, candidate] of candidates.entries()) {
    const { path } = candidate;
    const key = coming[i]?.work.key ?? "";
    const [latest, seen] = [archive.versions.latestOf(path), keeper.seen(path)];
    const now = seen === undefined ? null : await facts.stamped(path);
    if (latest !== null && seen?.hash === latest.hash && now?.stamp === seen.stamp) {
      candidate.version = latest;
      done(path);
      continue;
    }
    const [writer] = candidate.writers;
    const by = writer ?? null;
    const what = { path, key, by, tool: null, kind: "before_wipe", isEdit: true, text: null } as const;
    const outcome = await keeper.keep(
      { ...what, session: writer?.session ?? null, atMs: clock.wall() },
      () => false,
    );
    if (outcome.is === "kept") candidate.version = outcome.version;
    if (outcome.is !== "missed") done(path);
  }
}
