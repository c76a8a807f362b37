/**
 * Restores: a version's way back into a file. A restore is an edit: what an edit would be asked is asked, the file is locked, and
 * what is there is kept first. The process that asks writes the file, never the daemon.
 */

import { dirname } from "node:path";
import type { HookPlan } from "../../hooks/seam/plan.ts";
import type { HookAction, HookOutcome } from "../../hooks/seam/slices.ts";
import { type Refusal, refuse } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import type { RequestOf } from "../../protocol/schemas/requests.ts";
import type { RescueStateReply, RestoreEvent, rescueRequests } from "../../protocol/schemas/rescue.ts";
import { type Actor, type FileRef, sameActor } from "../core/frame/actors.ts";
import { actorRow, pathOf } from "../core/tables/naming.ts";
import type { Session } from "../core/tables/sessions.ts";
import { refs } from "../facts/facts.ts";
import { HookEvent } from "../hooks/event.ts";
import { Delivery } from "../hooks/notices.ts";
import { runPlan } from "../hooks/run.ts";
import { callerOf, type DaemonServices, type HandlersOf } from "../requests/handler.ts";
import { type Call, isRefusal } from "../server/call.ts";
import { noteReply } from "../trail/decisions.ts";
import type { FileToKeep } from "./keep.ts";
import { isIn, isOwn, pathsOf, versionRow } from "./listing.ts";
import type { Rescue, RescueServices } from "./services.ts";
import { type Version, versionName } from "./versions.ts";

/** As versions and the trail name it. */
const tool = "kite rescue restore";

/** What the trail says of a restore that names no version. */
const ownPart = "its agent's own part";

let restores = 0;

async function beginRestore(
  services: RescueServices,
  rescue: Rescue,
  request: RequestOf<"restore_begin">,
  call: Call,
): Promise<void> {
  const by = callerOf(services, request, call);
  const delivery = new Delivery();
  const begun = await begin(services, rescue, request, by, call, delivery);
  const path = begun.ok === true ? begun.path : null;
  noteReply(services, "restore_begin", by, begun, { file: path, why: request.version ?? ownPart });
  if (begun.ok) call.reply(begun, delivery.settle);
  else {
    delivery.settle(false);
    call.reply(begun);
  }
}

async function begin(
  services: RescueServices,
  rescue: Rescue,
  request: RequestOf<"restore_begin">,
  by: Actor | null,
  call: Call,
  delivery: Delivery,
) {
  await rescue.settled();
  const { archive } = rescue;
  const { id, version: name, into, waitMs = limits.waitMs } = request;
  const session = id === undefined ? undefined : services.engine.state.sessions.live.get(id);
  if (id !== undefined && session === undefined)
    return refuse("unknown_session", `no session ${id} is registered; send register first`);
  const version = name === undefined ? null : await versionFor(rescue, session, name, into);
  if (version !== null && isRefusal(version)) return version;
  const file = await targetOf(services, session, into ?? version?.path ?? "", version);
  if (isRefusal(file)) return file;
  const held =
    by === null ? writtenNow(services, file) : await asEdit(services, by, file, waitMs, call, delivery);
  if (isRefusal(held)) return held;
  const restore = `restore-${held.flight}`;
  const end = (wrote: boolean) => endAsEdit(services, rescue, { by, file, flight: held.flight }, call, wrote);
  const before = await keepNow(services, rescue, file, id ?? null, version === null);
  if (before !== null && isRefusal(before)) {
    await end(false);
    return before;
  }
  open(rescue, restore, { by, file, end }, call);
  const rowOf = (one: Version | null) => (one === null ? null : versionRow(archive, one));
  return {
    ok: true as const,
    restore,
    version: rowOf(version),
    path: pathOf(file),
    before: rowOf(before),
  };
}

/** Returns the version of this name, if the session may restore it there. */
async function versionFor(
  { archive }: Rescue,
  session: Session | undefined,
  name: string,
  into: string | undefined,
): Promise<Version | Refusal> {
  const version = archive.versions.get(Number(name.slice(2)));
  if (version === undefined)
    return refuse("unknown_version", `Kite keeps no ${name}; kite history FILE lists the versions of a file`);
  if (session !== undefined && !isOwn(session, version))
    return foreign(`${name} is of another project`, name);
  if (version.kind === "set_aside" && (into ?? version.path) === version.path) {
    const error = `${name} was set aside, and Kite does not know its file: kite rescue restore ${name} --into DIR`;
    return refuse("invalid_request", error, { path: "into" });
  }
  if (!(await archive.isThere(version)))
    return refuse("version_gone", `the content of ${name} is gone; kite history lists the other versions`);
  return version;
}

/** What tells those who look on. */
type Telling = Pick<DaemonServices, "events">;

async function endRestore(
  services: RescueServices & Telling,
  rescue: Rescue,
  request: RequestOf<"restore_end">,
  call: Call,
): Promise<void> {
  const { restore, wrote } = request;
  const by = callerOf(services, request, call);
  const found = rescue.restores.get(restore);
  const isIts = by === null ? found?.by === null : found?.by != null && sameActor(found.by, by);
  if (found === undefined || !isIts) {
    call.reply(refuse("unknown_restore", `no ${restore} has begun, or its time is over; begin it anew`));
    return;
  }
  await found.end(wrote);
  await rescue.settled();
  const latest = wrote ? rescue.archive.versions.latestOf(pathOf(found.file)) : null;
  if (latest !== null) {
    const { path, project } = latest;
    const event = { event: "work_restored", path, project } satisfies RestoreEvent;
    services.events.tell(event, by === null ? [] : [by.session], project);
  }
  call.reply({ ok: true, version: latest === null ? null : versionRow(rescue.archive, latest) });
}

/** Returns the file to write; for an agent below a worktree of its project. */
async function targetOf(
  services: RescueServices,
  session: Session | undefined,
  path: string,
  version: Version | null,
): Promise<FileRef | Refusal> {
  const found = await refs(services, "/", [path]);
  if (isRefusal(found)) return found;
  const [file] = found;
  if (file === undefined) throw new Error("one name gave no file");
  if (file.dir)
    return refuse("invalid_request", `${file.file} is a directory; name the file`, { path: "into" });
  if (session === undefined) return file;
  const around = await services.facts.repository(dirname(pathOf(file)));
  if ("unreachable" in around)
    return refuse("path_unreachable", `${file.file} could not be checked: ${around.unreachable}; try again`);
  const { gitDir } = around;
  const isGits = gitDir !== null && pathOf(file).startsWith(`${gitDir}/`);
  const isBelow =
    pathOf(file).startsWith(`${session.worktree}/`) || (gitDir !== null && isOwn(session, around));
  return isGits || !isBelow
    ? foreign(`${file.file} is outside of your project`, version === null ? null : versionName(version))
    : file;
}

function foreign(what: string, version: string | null): Refusal {
  if (version === null)
    return refuse(
      "person_only",
      `${what}: an agent takes back only what it wrote in its project's worktrees`,
    );
  const error = `${what}: an agent restores versions of its own project, and into its worktrees; ask your user: kite rescue restore ${version}`;
  return refuse("person_only", error);
}

/** A person needs no lock, and waits for a write that is under way. */
function writtenNow({ engine }: RescueServices, file: FileRef): { readonly flight: string } | Refusal {
  restores += 1;
  const hold = engine.state.locks.holds.get(file.key);
  if (hold === undefined || hold.flights.length === 0) return { flight: `${process.pid}-${restores}` };
  const { name } = actorRow(engine.state, hold.actor);
  return refuse("lock_held", `${name} writes ${file.file} now; try again in a moment`, { file: file.file });
}

/** Asks and locks as for an edit. */
async function asEdit(
  services: RescueServices,
  by: Actor,
  file: FileRef,
  waitMs: number,
  call: Call,
  delivery: Delivery,
): Promise<{ readonly flight: string } | Refusal> {
  restores += 1;
  const flight = `${process.pid}-${restores}`;
  const path = pathOf(file);
  const who = whoOf(by);
  const cwd = services.engine.state.sessions.live.get(by.session)?.cwd ?? "/";
  const ancestors = services.presence.ancestors(by.session, by.agent);
  const prompt = services.presence.of(by.session).prompt;
  const lock = { promptId: prompt, waitMs, ancestors, parentFile: null, overwrites: [] };
  const actions: readonly HookAction[] = [
    { do: "check_own_files", ...who, cwd, files: [path] },
    { do: "gate_write", ...who, cwd, file: path, isOwn: false },
    { do: "lock", ...who, cwd, file: path, toolUseId: flight, ...lock },
  ];
  const plan = planOf("restore_begin", by, path, actions);
  const event = new HookEvent(services, services, call, plan, null, false, delivery);
  const outcomes = await runPlan(event, services);
  return outcomes.map(outcome => refusalOf(outcome, path)).find(isRefused) ?? { flight };
}

function isRefused(refusal: Refusal | null): refusal is Refusal {
  return refusal !== null;
}

function refusalOf(outcome: HookOutcome, path: string): Refusal | null {
  if (!outcome.ok) return outcome.refusal;
  if (!("verdict" in outcome) || outcome.verdict !== "deny") return null;
  if (outcome.did === "check_own_files")
    return refuse("person_only", `${path} is Kite's own file; only a person changes it`);
  const gates =
    "findings" in outcome ? outcome.findings.flatMap(one => ("gate" in one ? [one.gate] : [])) : [];
  const error = `a gate of this project (${gates.join(", ")}) holds edits of ${path} back; kite declare --help says what it asks for`;
  return refuse("gate_held", error, { path });
}

/** The end of an edit, of which the slices hear as of any other. */
async function endAsEdit(
  services: RescueServices,
  { queue }: Rescue,
  { by, file, flight }: { readonly by: Actor | null; readonly file: FileRef; readonly flight: string },
  call: Call,
  wrote: boolean,
): Promise<void> {
  const path = pathOf(file);
  if (by === null) {
    if (wrote) queue.add({ ...toKeep(file, null, services.clock.wall()), kind: "write", tool });
    return;
  }
  const cwd = services.engine.state.sessions.live.get(by.session)?.cwd ?? "/";
  const ancestors = services.presence.ancestors(by.session, by.agent);
  const end = { toolUseId: flight, wrote, file: path, cwd, lines: null, ancestors };
  const actions: readonly HookAction[] = [{ do: "flight_end", ...whoOf(by), ...end }];
  await runPlan(new HookEvent(services, services, call, planOf("restore_end", by, path, actions)), services);
}

function planOf(event: string, by: Actor, file: string, actions: readonly HookAction[]): HookPlan {
  const { session, agent } = by;
  const unknown = { doing: null, home: null, transcript: null };
  return { event, session, agent, tool, file, ...unknown, actions, answer: () => ({ output: "" }) };
}

function whoOf({ session, agent }: Actor) {
  return agent === null ? { session } : { session, agent };
}

/** Keeps what is in the file; null: nothing is there. A refusal: what is there would be lost. */
async function keepNow(
  { facts, clock }: RescueServices,
  { keeper }: Rescue,
  file: FileRef,
  session: string | null,
  isOwnPart: boolean,
): Promise<Version | null | Refusal> {
  if ((await facts.stamped(pathOf(file)))?.stamp === null) return null;
  const outcome = await keeper.keep(toKeep(file, session, clock.wall()), () => false);
  if (outcome.is === "kept") return outcome.version;
  if (outcome.is === "gone") return null;
  const why = outcome.is === "nothing" ? "it lies where Kite keeps nothing" : outcome.why;
  const error = isOwnPart
    ? `Kite cannot keep what it has now (${why})`
    : `what is in ${file.file} now is not kept (${why}), so nothing is restored over it; restore into a file that is not there`;
  return refuse("not_kept", error, { path: pathOf(file) });
}

function toKeep(file: FileRef, session: string | null, atMs: number): FileToKeep {
  const what = { path: pathOf(file), key: file.key, by: null, tool: null, kind: "before_restore" } as const;
  return { ...what, isEdit: true, session, text: null, atMs };
}

/** Remembers it until its end: asked for, or by the end of its connection, or after a while. */
function open(
  { restores: all }: Rescue,
  id: string,
  {
    by,
    file,
    end,
  }: { readonly by: Actor | null; readonly file: FileRef; readonly end: (wrote: boolean) => Promise<void> },
  { connection }: Call,
): void {
  let isOver = false;
  let untie = () => {};
  const once = async (wrote: boolean) => {
    if (isOver) return;
    isOver = true;
    all.delete(id);
    clearTimeout(timer);
    untie();
    await end(wrote);
  };
  // What the caller did then nobody knows: the file is looked at as after a write.
  const timer = setTimeout(() => void once(true), limits.rescueRestoreMs).unref();
  all.set(id, { by, file, end: once });
  untie = connection.tie(() => void once(true));
  for (const [, oldest] of all) {
    if (all.size <= limits.rescueRestoresMax) break;
    void oldest.end(true);
  }
}

// rescue_state, rescue_purge, restore_begin, restore_end: what is kept, the removal of it, and the way back.

/** If the setting is off, the daemon does not know what is in the store. */
const purgeOff = refuse(
  "not_available",
  "the setting rescue is off, so nothing was removed; what Kite kept before is in ~/.kite/rescue: delete that folder",
);

/** The refusal if the setting is off. */
const rescueOff = refuse(
  "not_available",
  "Kite keeps no versions of files: the setting rescue is off; switch it on, then run kite down and kite up",
);

export const rescueHandlers: HandlersOf<typeof rescueRequests, RescueServices & Telling> = {
  rescue_state: ({ rescue }, _request, call) => {
    const ready = rescue?.archive.ready ?? Promise.resolve();
    call.alone(ready.then(() => call.reply(stateOf(rescue))));
    return undefined;
  },
  rescue_purge: (services, request, call) => {
    if (services.rescue === null) call.reply(purgeOff);
    else call.alone(purge(services, services.rescue, request, call));
    return undefined;
  },
  restore_begin: (services, request, call) => {
    if (services.rescue === null) call.reply(rescueOff);
    else call.alone(beginRestore(services, services.rescue, request, call));
    return undefined;
  },
  restore_end: (services, request, call) => {
    if (services.rescue === null) call.reply(rescueOff);
    else call.alone(endRestore(services, services.rescue, request, call));
    return undefined;
  },
};

function stateOf(rescue: Rescue | null): RescueStateReply {
  const bytesMax = limits.rescueStoreBytes;
  const none = { versions: 0, files: 0, bytes: 0, bytesMax, wipes: 0, waiting: 0, missed: 0, trouble: null };
  if (rescue === null) return { ok: true, on: false, ...none };
  const { archive, queue } = rescue;
  const { versions, wipes, trouble } = archive;
  const { size, files, bytes } = versions;
  const { atMs, ...damage } = archive.damage;
  const work = { waiting: rescue.waiting, missed: queue.missed, damage, trouble };
  return { ok: true, on: true, bytesMax, versions: size, files, bytes, wipes: wipes.size, ...work };
}

async function purge(
  services: RescueServices,
  { archive, settled }: Rescue,
  request: RequestOf<"rescue_purge">,
  call: Call,
): Promise<void> {
  await settled();
  const { before = Number.POSITIVE_INFINITY } = request;
  const paths = await pathsOf(services.facts, request.file);
  const { alsoIn, ...removed } = await archive.purge(
    ({ path, atMs }) => atMs < before && (paths === null || isIn(path, paths)),
  );
  const reply = { ok: true as const, ...removed, alsoIn: alsoIn.slice(0, limits.rescueNamedMax) };
  const what = `${removed.versions} versions, ${removed.contents} contents`;
  noteReply(services, "rescue_purge", null, reply, {
    file: request.file ?? null,
    why: `removed for good: ${what}`,
  });
  call.reply(reply);
}
