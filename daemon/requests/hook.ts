/** A hook's event: the adapter says what to do, hook-run does it, and the adapter words the answer. */
import type { HookPlan } from "../../hooks/seam/plan.ts";
import { refuse } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import type { RequestOf } from "../../protocol/requests.ts";
import { isSilenced, silent } from "../config/off-switch.ts";
import { Delivery } from "../hooks/delivery.ts";
import type { HookServices } from "../hooks/hook-services.ts";
import { carryOut } from "../hooks/run.ts";
import type { Call } from "../server/call.ts";
import type { RequestHandler } from "./handler.ts";

/** Answers in its own time: hooks on one connection do not wait for each other. */
export const hook: RequestHandler<"hook", HookServices> = (services, request, call) => {
  call.connection.markHook();
  call.alone(answer(services, request, call));
  return undefined;
};

async function answer(services: HookServices, request: RequestOf<"hook">, call: Call): Promise<void> {
  const { adapter, hookCounts } = services;
  if (adapter === null) {
    const error = "this daemon runs without an adapter for hooks; start it with kite up";
    call.reply(refuse("not_available", error));
    return;
  }
  const { env = {}, ppid = null, wake = false } = request;
  const { socket, hookWaitMs: waitMs } = services;
  const asked = adapter.plan(request.event, { env, ppid, socket, waitMs, wake });
  const plan = isOff(services, asked, request.event["cwd"]) ? silent(asked) : asked;
  // The same event comes through the hook beside this one.
  if (!wake) count(hookCounts, plan.event);
  const unbroken = breakSilence(plan, call);
  const delivery = new Delivery();
  try {
    const outcomes = await carryOut(services, call, plan, delivery).finally(() => clearTimeout(unbroken));
    const going = outcomes.find(o => !o.ok && o.refusal.code === "restarting");
    if (going !== undefined && !going.ok) {
      // The client comes back with the same event: nothing is decided yet, and nothing was told.
      delivery.settle(false);
      call.reply(going.refusal);
      return;
    }
    const words = plan.answer(outcomes);
    if (request.reply === "raw") call.replyRaw(rawReply(words), delivery.settle);
    else call.reply({ ok: true, ...words }, delivery.settle);
  } catch (error) {
    delivery.settle(false);
    throw error;
  }
}

/**
 * A client that hears nothing lets its tool run. Where git may be asked it hears at once that the daemon looks; else only
 * where an answer takes its time, as on a busy machine.
 */
function breakSilence(plan: HookPlan, { connection }: Call): NodeJS.Timeout | undefined {
  if (plan.actions.some(action => action.do === "guard")) {
    connection.push("\n");
    return undefined;
  }
  return setTimeout(() => connection.push("\n"), limits.hookSilenceMs);
}

/** Names of events come from the client: not each of them gets a number of its own. */
export function count(hooks: Map<string, number>, event: string): void {
  const name = hooks.has(event) || hooks.size < limits.hookKindsMax ? event : "others";
  hooks.set(name, (hooks.get(name) ?? 0) + 1);
}

/** Whether `kite off` was said for the event's session or for where it works. */
function isOff({ silence, engine, clock }: HookServices, { session }: HookPlan, cwd: unknown): boolean {
  const known = session === null ? undefined : engine.state.sessions.live.get(session);
  const places = [cwd, known?.project, known?.worktree].filter(place => typeof place === "string");
  return isSilenced(silence.read(), { session, places }, clock.wall());
}

/** For clients without a JSON parser: a line with exit code and byte counts, then the bytes. */
function rawReply(words: ReturnType<HookPlan["answer"]>): string {
  const { output, exitCode = 0, stderr = "", env = [] } = words;
  const lines = env.map(line => `${line}\n`).join("");
  const sizes = [output, stderr, lines].map(text => Buffer.byteLength(text));
  return `${exitCode} ${sizes.join(" ")}\n${output}${stderr}${lines}`;
}
