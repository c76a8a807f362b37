/** Handles a hook's event: the adapter plans, `hooks/run.ts` runs the plan, and the adapter words the answer. */
import type { HookPlan } from "../../hooks/seam/plan.ts";
import type { HookOutcome } from "../../hooks/seam/slices.ts";
import { type Refusal, refuse } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import type { RequestOf } from "../../protocol/schemas/requests.ts";
import { quote } from "../../protocol/text.ts";
import { isOff, nothingOff, withoutWaits } from "../config/off-switch.ts";
import { actorRow } from "../core/tables/naming.ts";
import { confined, MountView } from "../facts/mounts.ts";
import { noteUntold, refused, withLikelyActor } from "../hooks/event.ts";
import type { HookServices } from "../hooks/parts.ts";
import { inwardContext, inwardPlan, observedPlan, observing, silenced } from "../hooks/plan-filters.ts";
import { Delivery } from "../hooks/points.ts";
import { runPlan } from "../hooks/run.ts";
import type { Call } from "../server/call.ts";
import { actorOf } from "../sessions/proposals.ts";
import { decidedBy, noteHook } from "../trail/decisions.ts";
import type { RequestHandler } from "./handler.ts";

/** Answers independently of order: hooks on one connection do not wait for each other. */
export const hook: RequestHandler<"hook", HookServices> = (services, request, call) => {
  call.connection.markHook();
  call.alone(answer(services, request, call));
  return undefined;
};

type Words = ReturnType<HookPlan["answer"]>;

/** What the status line shows where Kite is off, as the hook clients print it where it is off everywhere. */
const offLine = "kite: off\n";

async function answer(acting: HookServices, request: RequestOf<"hook">, call: Call): Promise<void> {
  const began = performance.now();
  const { hookCounts } = acting;
  const adapter = acting.adapters.get(request.client);
  if (adapter === undefined) {
    const error =
      request.client === undefined
        ? "this daemon runs without an adapter for hooks; start it with kite up"
        : `this daemon does not know the client ${quote(request.client, limits.nameBytes)}; update Kite`;
    call.reply(refuse("not_available", error));
    return;
  }
  const { env = {}, ppid = null, wake = false, statusLine = false } = request;
  // The status line is a person's.
  const observed = !statusLine && acting.settings.values.mode === "observe" ? observing(acting) : null;
  const { socket, ownFiles, settings, calls, untoldAgents } = acting;
  // Most events name no mounts, and need not wait for a turn.
  const mounts = request.mounts === undefined ? null : await acting.facts.mountView(request.mounts);
  const view = mounts instanceof MountView ? mounts : call.connection.view;
  const { lockWaitMs, clientLockWaitMs } = settings.values;
  const waitMs = Math.min(clientLockWaitMs[adapter.name] ?? lockWaitMs, adapter.limits.lockWaitMaxMs);
  const context = { env, ppid, socket, home: ownFiles.home, waitMs, wake, statusLine, calls };
  const ofEntry =
    view === null
      ? adapter.plan(request.event, context)
      : await planInView(acting, view, adapter.plan(request.event, inwardContext(view, context)));
  const isNamed = adapter !== acting.adapters.get(undefined);
  const asked = isNamed ? { ...ofEntry, client: adapter.name } : ofEntry;
  const { session, home } = asked;
  if (asked.namesNoAgent === true && session !== null) noteUntold(acting, session);
  const known = observed ?? acting;
  const isGuessed = session !== null && untoldAgents.size > 0 && untoldAgents.has(session);
  const services = isGuessed ? await withLikelyActor(known, asked) : known;
  if (session !== null && home !== null)
    for (const part of services.points.homeTold) part.homeTold(services, session, home);
  const { cwd } = request.event;
  const isUnseen = isOffFor(
    services,
    asked,
    typeof cwd === "string" && view !== null ? view.inward(cwd) : cwd,
  );
  if (isUnseen && statusLine) {
    const words = { output: offLine };
    if (request.reply === "raw") call.replyRaw(rawReply(words), null);
    else call.reply({ ok: true, ...words });
    return;
  }
  const full = isUnseen ? withoutWaits(asked) : asked;
  const plan = observed === null ? full : observedPlan(full);
  // The event's other hook counts it; the status line is no event.
  if (!wake && !statusLine) count(hookCounts, plan.event);
  const unbroken = breakSilence(plan, call);
  const delivery = new Delivery(observed === null);
  try {
    const outcomes = await (mounts !== null && !(mounts instanceof MountView)
      ? notRun(plan, mounts)
      : runPlan(services, call, plan, delivery)
    ).finally(() => clearTimeout(unbroken));
    noteClient(services, plan, view);
    for (const outcome of outcomes) {
      if (outcome.ok || outcome.refusal.code !== "restarting") continue;
      // The client sends the event again: the daemon has decided and reported nothing yet.
      delivery.settle(false);
      call.reply(outcome.refusal);
      return;
    }
    if (observed === null && plan.refuses !== undefined) noteRefused(services, plan, plan.refuses);
    const said = plan.answer(outcomes);
    const words =
      observed === null
        ? withFirstDenial(services, plan, outcomes, delivery, said)
        : silenced(observed, plan, outcomes, said);
    if (request.reply === "raw") call.replyRaw(rawReply(words), delivery.settle);
    else call.reply({ ok: true, ...words }, delivery.settle);
    // The line of its decision says how long a hook waited for others.
    const ms = wake || call.wasParked ? null : performance.now() - began;
    const chars = words.output.length + (words.stderr?.length ?? 0);
    if (!statusLine && (ms !== null || chars > 0)) noteHook(services, plan, ms, chars);
  } catch (error) {
    delivery.settle(false);
    throw error;
  }
}

/**
 * Writes a blank line, since a client that gets no output lets its tool run. If the plan may run git, the line leaves
 * at once, else only when the answer is slow, as on a busy machine.
 */
function breakSilence(plan: HookPlan, { connection }: Call): NodeJS.Timeout | undefined {
  for (const action of plan.actions) {
    if (action.do !== "guard") continue;
    connection.push("\n");
    return undefined;
  }
  return setTimeout(() => connection.push("\n"), limits.hookSilenceMs);
}

/** Writes the line of a step that the adapter itself refuses. Where Kite only observes, the words that it would say have one. */
function noteRefused(
  services: HookServices,
  plan: HookPlan,
  { rule, why }: NonNullable<HookPlan["refuses"]>,
): void {
  if (!services.notedDecisions.isFirst(plan, rule)) return;
  const { session, agent, event, tool: type, file } = plan;
  const actor = session === null ? null : actorOf(services, session, agent, null);
  const line = { ...decidedBy(services, actor), event, type, file, decision: "deny", rule, why } as const;
  services.recorder.note(line);
}

/**
 * Tells the session's person of its first denial, and of no later one. A tool whose agent only has to read the file again is
 * none.
 */
function withFirstDenial(
  services: HookServices,
  { session, agent, tellDenial }: HookPlan,
  outcomes: readonly HookOutcome[],
  delivery: Delivery,
  said: Words,
): Words {
  if (session === null || tellDenial === undefined || !outcomes.some(isDenial)) return said;
  const { engine, denialNotes, likelyActor } = services;
  const { name } = actorRow(engine.state, actorOf(services, session, agent, null));
  const told = tellDenial(outcomes, likelyActor === null ? name : `${name}, ${likelyActor}`);
  if (told === null) return said;
  return denialNotes.offer(engine.state, session, delivery, () => {}).length === 0 ? said : told;
}

function isDenial(outcome: HookOutcome): boolean {
  return "verdict" in outcome && outcome.verdict === "deny" && !(outcome.ok && outcome.did === "lock");
}

/** The answer is for the container, whatever its links lead to here. */
function planInView({ facts }: HookServices, view: MountView, plan: HookPlan): Promise<HookPlan> {
  return confined(view, facts.path, names => inwardPlan(view, plan, names));
}

/** What the mounts of a container do not tell, nothing is done for: its client tells the person why, as of any refusal. */
async function notRun({ actions }: HookPlan, refusal: Refusal): Promise<readonly HookOutcome[]> {
  return actions.slice(0, 1).map(action => refused(action.do, refusal));
}

/**
 * Keeps where the session's client writes what it does: there the daemon looks for signs of life. And whether it runs in a
 * container.
 */
function noteClient(
  { engine, presence }: HookServices,
  { session, transcript }: HookPlan,
  view: MountView | null,
): void {
  if (session === null || (transcript === null && view === null)) return;
  if (!engine.state.sessions.live.has(session)) return;
  const row = presence.of(session);
  if (transcript !== null) row.transcript = transcript;
  row.isContained = view !== null;
}

/** Counts an event. Its name comes from the client, so the number of counted names is limited. */
export function count(hooks: Map<string, number>, event: string): void {
  const name = hooks.has(event) || hooks.size < limits.hookKindsMax ? event : "others";
  hooks.set(name, (hooks.get(name) ?? 0) + 1);
}

/** Whether `kite off` applies to the event's session or to its directories. */
function isOffFor(
  { offSwitches, engine, clock }: HookServices,
  { session }: HookPlan,
  cwd: unknown,
): boolean {
  const off = offSwitches.read();
  if (off === nothingOff) return false;
  const known = session === null ? undefined : engine.state.sessions.live.get(session);
  const places = [cwd, known?.project, known?.worktree].filter(place => typeof place === "string");
  return isOff(off, { session, places }, clock.wall());
}

/** Returns the reply for clients without a JSON parser: a line with exit code and byte counts, then the bytes. */
function rawReply(words: Words): string {
  const { output, exitCode = 0, stderr = "", env = [] } = words;
  const lines = env.length === 0 ? "" : `${env.join("\n")}\n`;
  const { byteLength } = Buffer;
  const sizes = `${byteLength(output)} ${byteLength(stderr)} ${byteLength(lines)}`;
  return `${exitCode} ${sizes}\n${output}${stderr}${lines}`;
}
