/**
 * Finds a change that an edit would undo because its agent does not know of it. Only where the client does not look itself: an
 * edit of another client costs nothing here, and one of a file that nobody else wrote a look into the state.
 */
import type { UncheckedWrite } from "../../hooks/seam/actions.ts";
import type { UnseenChange } from "../../hooks/seam/outcomes.ts";
import { duration } from "../../protocol/text.ts";
import type { Actor, FileRef } from "../core/frame/actors.ts";
import type { Writer } from "../core/tables/base-state.ts";
import { pathOf } from "../core/tables/naming.ts";
import { decidedBy } from "../trail/decisions.ts";
import { type Run, toolOf } from "./action.ts";
import type { HookServices } from "./hook-services.ts";

/** What is known of such an edit when it has its lock. */
interface Locked {
  readonly files: readonly FileRef[];
  /** Keys of the files that it replaces or deletes. */
  readonly whole: ReadonlySet<string | undefined>;
  /** The file of whose change during the wait its answer tells; null: there is none. */
  readonly toldPath: string | null;
  /** It is denied for that change. */
  readonly isDenied: boolean;
}

/** Returns the first such change. Its actor counts as told when the answer is delivered, so the next try goes ahead. */
export async function unseenChange(
  run: Run,
  { readAtMs }: UncheckedWrite,
  actor: Actor,
  { files, whole, toldPath, isDenied }: Locked,
): Promise<UnseenChange | null> {
  const { services } = run;
  const { engine, seenWrites, facts } = services;
  let found: UnseenChange | null = null;
  let named = files.find(file => pathOf(file) === toldPath);
  for (const file of isDenied ? [] : files) {
    // Also where nothing is unseen: the report of a write from before its lock may come after it.
    if (!whole.has(file.key)) {
      seenWrites.changesPart(engine.state, actor, file.key);
      continue;
    }
    const last = seenWrites.unseen(engine.state, actor, file.key, readAtMs ?? null);
    if (last === null) continue;
    // Of a file that is gone there is nothing to lose.
    if (found !== null || (await facts.stamped(pathOf(file)))?.stamp === null) continue;
    found = changeBy(services, last, file);
    named = file;
  }
  if (named !== undefined) noteTold(run, actor, named);
  return found;
}

/** What stops an edit that has its lock: its file changed while it waited, or has a change that it would undo. */
interface Stale {
  readonly changedBy: { readonly name: string } | null;
  readonly changedFile: string | null;
  readonly unseen: UnseenChange | null;
}

/** Writes the line of such a denial. */
export function noteStale(
  { services, plan }: Run,
  actor: Actor,
  { changedBy, changedFile, unseen }: Stale,
): void {
  const why =
    unseen === null
      ? `${changedBy?.name ?? "somebody"} changed it while the agent waited, and it would have been overwritten unread`
      : `${unseen.name} changed it ${duration(unseen.agoMs)} ago, and as far as Kite knows the agent has not read that`;
  const line = { ...decidedBy(services, actor), event: plan.event, type: toolOf(plan) };
  const file = unseen?.file ?? changedFile;
  services.recorder.note({ ...line, file, decision: "deny", rule: "stale", why });
}

/** The answer tells the actor of all that others wrote in the file until now. */
function noteTold({ services, delivery }: Run, actor: Actor, { key }: FileRef): void {
  const { engine, seenWrites } = services;
  const { seq } = engine.state;
  delivery.whenTold(heard => {
    if (heard) seenWrites.noteTold(actor, key, seq);
  });
}

function changeBy(
  { writers, clock }: HookServices,
  { actor, name, wallMs }: Writer,
  file: FileRef,
): UnseenChange {
  const reported = writers.last(file.key);
  const isIts = reported?.session === actor.session && reported.agent === actor.agent;
  const lines = isIts ? reported.lines : null;
  return { file: pathOf(file), name, lines, agoMs: Math.max(0, clock.wall() - wallMs) };
}
