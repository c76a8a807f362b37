/** The action that refuses a step which would write Kite's own files. */
import type { HookOutcome } from "../../hooks/seam/slices.ts";
import { isRefusal } from "../server/call.ts";
import { decidedBy } from "../trail/decisions.ts";
import { type ActionOf, actorOfAction, type Run, toolOf } from "./action.ts";

type CheckAction = ActionOf<"check_own_files">;

/** Returns null if none of the files is Kite's. A file that cannot be read in time counts by its path alone. */
export async function checkOwnFiles(run: Run, asked: CheckAction): Promise<HookOutcome | null> {
  const { services, scope } = run;
  const { session, cwd, files } = asked;
  await services.ownFiles.place(services);
  for (const file of files) {
    const found = await scope.ruledFile({ session, cwd, file });
    const ref = isRefusal(found) ? { lexical: services.facts.lexical(cwd, file), key: null } : found.file;
    const name = services.ownFiles.nameOf(ref);
    if (name === null) continue;
    noteRefusal(run, asked, ref.lexical);
    return { did: "check_own_files", ok: true, verdict: "deny", name, path: ref.lexical };
  }
  return null;
}

function noteRefusal(run: Run, asked: CheckAction, file: string): void {
  const { services, plan } = run;
  if (!services.notedDecisions.isFirst(plan, `own ${file}`)) return;
  const actor = actorOfAction(run, asked);
  const line = { ...decidedBy(services, actor), event: plan.event, type: toolOf(plan), rule: "own_files" };
  const { at, name } = line;
  const code = "person_only";
  const error = "it is Kite's own file: only a person changes it";
  services.recorder.refused(
    { at, type: plan.event, id: actor.session, name, file, code, error },
    { ...line, file, decision: "deny", code, why: error },
  );
}
