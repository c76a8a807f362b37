/** Asks the features that have a say whether an agent may create tasks, or call one done. A person always may. */
import type { HookServices } from "../hooks/hook-services.ts";
import type { Call } from "../server/call.ts";
import { signOfLife } from "../sessions/commands.ts";
import { decidedBy, noteReply } from "../trail/decisions.ts";
import { type Asking, callerOf } from "./caller.ts";
import { taskGates } from "./points.ts";
import type { TaskStep } from "./task-gate.ts";

type Later = Promise<void> | undefined;

/** Goes on with the gates' warnings, or refuses. Where no gate has anything to ask it goes on at once. */
export function beforeTask(
  services: HookServices,
  request: Asking,
  call: Call,
  step: TaskStep,
  goOn: (warnings: readonly string[]) => Later,
): Later {
  const by = callerOf(services, request, call);
  const asked =
    by === null ? [] : taskGates.map(gate => gate.ask(services, by, step)).filter(one => one !== null);
  if (asked.length === 0) return goOn([]);
  const about = step === "create" || step.task === null ? {} : { task: step.task };
  return Promise.all(asked).then(findings => {
    for (const { refusal, line } of findings) {
      if (refusal === null) continue;
      if (request.id !== undefined) signOfLife(services, request.id, request.agent ?? null);
      const { rule, why: error } = line ?? { rule: "task", why: refusal.error };
      noteReply(services, call.type, by, { ...refusal, error }, { rule, ...about });
      return call.reply(refusal);
    }
    const { type } = call;
    const who = {
      ...about,
      ...decidedBy(services, by),
      event: type,
      type,
      file: null,
      decision: "note",
    } as const;
    for (const { line } of findings) if (line !== null) services.recorder.note({ ...who, ...line });
    return goOn(findings.flatMap(({ warnings }) => warnings));
  });
}
