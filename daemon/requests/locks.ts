/** file_lock, file_unlock, file_check, file_touch: turns paths and resources into keys; the core decides. */

import { dirname, isAbsolute } from "node:path";
import { type Refusal, refuse } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import { isResource, personOnWire } from "../../protocol/names.ts";
import type { lockRequests } from "../../protocol/schemas/lock.ts";
import type { RequestOf } from "../../protocol/schemas/requests.ts";
import type { FileName, FileRef } from "../core/frame/actors.ts";
import { type Actor, sameActor } from "../core/frame/actors.ts";
import { ownHold } from "../core/locks/holds.ts";
import type { Reply } from "../core/tables/entries.ts";
import { actorRow, pathOf, tokenText } from "../core/tables/naming.ts";
import { fileName, once, refs, refsNow, resourceRef } from "../facts/facts.ts";
import { refuseKept } from "../hooks/edits/edit-lock.ts";
import type { Services } from "../options.ts";
import { type Call, isRefusal, retryOf } from "../server/call.ts";
import { lockCommand, signOfLife } from "../sessions/proposals.ts";
import { noteLock, noteReply } from "../trail/decisions.ts";
import { beyondReach } from "./agent-reach.ts";
import type { DaemonServices, HandlersOf } from "./handler.ts";
import { type Asking, actorOfId, projectOf, sessionProject } from "./handler.ts";

function fileLock(
  services: Services,
  request: RequestOf<"file_lock">,
  call: Call,
): Promise<void> | undefined {
  const actor = withCommand(actorOfId(services, request.id, request.agent, call), request.command);
  const names = namesOf(request);
  const cwd = cwdFor(services, request.id, names);
  if (typeof cwd !== "string") {
    call.reply(cwd);
    return undefined;
  }
  const resources = request.resource === undefined ? noResources : resourcesOf(services, request, call);
  const lock = (paths: readonly FileRef[]) => {
    const files = resources.length === 0 ? paths : [...paths, ...resources];
    // On a closed connection no client would learn of the lock.
    if (!call.connection.isClosed) proposeLock(services, request, call, actor, files, cwd);
  };
  const go = (files: readonly FileRef[] | Refusal): Promise<void> | undefined => {
    if (isRefusal(files)) call.reply(files);
    else if (request.byPerson !== true && files.some(file => file.dir))
      return lockWithinReach(services, request, call, actor, files).then(may =>
        may ? lock(files) : undefined,
      );
    else lock(files);
    return undefined;
  };
  const now = refsNow(services, cwd, names);
  return now === null ? refs(services, cwd, names).then(go) : go(now);
}

/** Whether an agent may lock these directories; if not, the request is answered. */
async function lockWithinReach(
  services: Services,
  request: RequestOf<"file_lock">,
  call: Call,
  actor: Actor,
  files: readonly FileRef[],
): Promise<boolean> {
  const directories = files.filter(file => file.dir);
  const refusal = await beyondReach(services, request.id, directories, "lock");
  if (refusal === null) return true;
  const [file] = directories;
  const asked = { event: "file_lock", type: "file_lock", actor, file: file?.file ?? "", files: directories };
  noteLock(services, asked, refusal, 0, false);
  call.reply(refusal);
  return false;
}

/** The core decides which of the writers have written since. */
async function workCommitted(
  services: Services,
  request: RequestOf<"work_committed">,
  call: Call,
): Promise<void> {
  const { engine } = services;
  const found = await refs(
    services,
    "/",
    request.files.map(({ file }) => file),
  );
  if (isRefusal(found)) {
    call.reply(found);
    return;
  }
  const settled = found.flatMap(({ key }, i) => {
    const work = key === null ? undefined : engine.state.writes.files.get(key);
    const named = request.files[i]?.writers ?? [];
    const writers = (work?.writers ?? []).filter(
      ({ actor, wallMs }) =>
        actor.session === request.id && named.some(({ agent, at }) => agent === actor.agent && at === wallMs),
    );
    if (work === undefined || writers.length === 0) return [];
    const seq = Math.max(...writers.map(writer => writer.seq));
    return [{ key: work.key, seq, writers: writers.map(({ actor }) => actor) }];
  });
  if (settled.length > 0) await engine.submitAndWait({ type: "writes_settled", settled });
  call.reply({ ok: true });
}

function fileUnlock(
  services: Services,
  request: RequestOf<"file_unlock">,
  call: Call,
): Promise<void> | undefined {
  const id = request.id ?? "";
  const actor = withCommand(actorOfId(services, id, request.agent, call), request.command);
  const retry = retryOf(request, call);
  if (request.id !== undefined) signOfLife(services, id, request.agent ?? null);
  if (request.all === true) {
    call.propose({ type: "lock_release", actor, files: "all", ...retry });
    return undefined;
  }
  const names = namesOf(request);
  const cwd = cwdFor(services, id, names);
  if (typeof cwd !== "string") {
    call.reply(cwd);
    return undefined;
  }
  const resources = request.resource === undefined ? noResources : resourcesOf(services, request, call);
  const go = (paths: readonly FileName[], project: string | null = null) => {
    const files = resources.length === 0 ? paths : [...paths, ...resources];
    const told = (reply: Reply) => {
      noteUnlock(services, request, request.id === undefined ? null : actor, files, reply, project);
      return reply;
    };
    if (request.force === true) {
      const by = request.id === undefined ? personOnWire : actorRow(services.engine.state, actor).name;
      call.propose({ type: "lock_revoke", by, files, ...retry }, told);
    } else call.propose({ type: "lock_release", actor, files, ...retry }, told);
  };
  if (request.id === undefined)
    return unlockOfPerson(services, names, cwd).then(([files, project]) =>
      go(files, project ?? request.project),
    );
  const now = heldNow(services, actor, cwd, names) ?? refsNow(services, cwd, names);
  if (now !== null) {
    go(now);
    return undefined;
  }
  return Promise.all(names.map(name => fileName(services, cwd, name))).then(files => go(files));
}

const noResources: readonly FileRef[] = [];

/** Returns the resources that the request names, each once, as keys. */
function resourcesOf(
  services: Services,
  request: Asking & { readonly resource?: string | readonly string[] | undefined },
  call: Call,
): FileRef[] {
  const project = projectOf(services, request, call);
  return once([request.resource ?? []].flat().map(name => resourceRef(services, project, name)));
}

function withCommand(actor: Actor, command: string | undefined): Actor {
  return command === undefined ? actor : { ...actor, command };
}

/** Returns the files, and the project of the first: who has no session has no project of their own. */
async function unlockOfPerson(
  services: Services,
  names: readonly string[],
  cwd: string,
): Promise<readonly [readonly FileName[], string | null]> {
  const files = await Promise.all(names.map(name => fileName(services, cwd, name)));
  const [first] = files;
  if (first === undefined) return [files, null];
  const found = await services.facts.repository(dirname(first.lexical));
  return [files, "unreachable" in found ? null : found.project];
}

/** Writes a line for a refused unlock, or a forced one; `actor` is null for a person. The events of the released locks write the other lines. */
function noteUnlock(
  services: Services,
  { force }: RequestOf<"file_unlock">,
  actor: Actor | null,
  files: readonly FileName[],
  reply: Reply,
  project: string | null,
): void {
  const paths = files.map(({ key, lexical, path }) => (key === null ? lexical : pathOf({ key, path })));
  const persons = actor === null ? { project } : {};
  if (!reply.ok && actor === null) {
    noteReply(services, "file_unlock", null, reply, { rule: "lock", file: paths[0] ?? null, ...persons });
  } else if (!reply.ok && actor !== null) {
    const [event, file] = ["file_unlock", files[0]?.file ?? ""];
    const named = paths.slice(0, 1).map(path => ({ key: "", path }));
    noteLock(services, { event, type: event, actor, file, files: named }, reply, 0, false);
  } else if (force === true) {
    const forced = { rule: "lock", why: "took the lock by force", ...persons };
    for (const file of paths) noteReply(services, "file_unlock", actor, reply, { ...forced, file });
  }
}

async function fileCheck(services: Services, request: RequestOf<"file_check">, call: Call): Promise<void> {
  const { id, agent, file = "" } = request;
  const actor = actorOfId(services, id, agent, call);
  const [resource] = request.resource === undefined ? noResources : resourcesOf(services, request, call);
  const cwd = cwdFor(services, id, namesOf(request));
  if (typeof cwd !== "string") {
    call.reply(cwd);
    return;
  }
  signOfLife(services, id, agent ?? null);
  const name = resource ?? (await fileName(services, cwd, file));
  await services.engine.read(() => call.reply(checkToken(services, actor, name, request.token)));
}

async function fileTouch(
  services: DaemonServices,
  request: RequestOf<"file_touch">,
  call: Call,
): Promise<void> {
  await services.engine.read(() => {});
  const cwd = cwdFor(services, request.id, [request.file]);
  if (typeof cwd !== "string") {
    call.reply(cwd);
    return;
  }
  const session = services.engine.state.sessions.live.get(request.id);
  if (session === undefined) {
    call.reply(refuse("unknown_session", `no session ${request.id} is registered; send register first`));
    return;
  }
  signOfLife(services, request.id, request.agent ?? null);
  const { lexical, key, path: spelled } = await fileName(services, cwd, request.file);
  const path = key === null ? lexical : pathOf({ key, path: spelled });
  // The reply leaves first: published clients take the next line for it.
  call.reply({ ok: true });
  for (const other of services.presence.alsoOpen(request.id, key ?? path)) {
    if (!services.engine.state.sessions.live.has(other)) continue;
    const sessions = [request.id, other];
    const conflict = { event: "file_conflict", file: request.file, path, sessions };
    services.events.tell(conflict, sessions, session.project);
  }
  services.presence.touched(request.id, path, key ?? path);
}

export const lockHandlers: HandlersOf<typeof lockRequests, DaemonServices> = {
  file_lock: fileLock,
  file_unlock: fileUnlock,
  file_check: fileCheck,
  work_committed: workCommitted,
  file_touch: fileTouch,
};

function proposeLock(
  services: Services,
  request: RequestOf<"file_lock">,
  call: Call,
  actor: Actor,
  files: readonly FileRef[],
  cwd: string,
): void {
  const { connection } = call;
  const { node, engine, clock } = services;
  signOfLife(services, request.id, request.agent ?? null);
  const bound = request.bind === true ? { node, epoch: engine.epoch, connection: connection.number } : null;
  const began = clock.now();
  const command = lockCommand(
    services,
    {
      actor,
      files,
      single: files.length === 1 && request.files === undefined && typeof request.resource !== "object",
      kind: "explicit",
      waitMs: request.waitMs ?? limits.waitMs,
      detach: request.detach ?? false,
      progress: request.progress ?? false,
      ancestors: services.presence.ancestors(request.id, actor.agent),
      bound,
      ...retryOf(request, call),
    },
    cwd,
    request.project ?? sessionProject(services, call),
  );
  const asked = { event: "file_lock", type: "file_lock", actor, file: files[0]?.file ?? "", files };
  const { ancestors } = command;
  const kept =
    request.unlessKept === true
      ? refuseKept(engine.state, { actor, files, ancestors, ticket: engine.state.seq })
      : null;
  if (kept !== null) {
    noteLock(services, asked, kept, 0, false);
    call.reply(kept);
    return;
  }
  let hasWaited = false;
  call.propose(
    command,
    reply => {
      noteLock(services, asked, reply, clock.now() - began, hasWaited);
      return reply;
    },
    () => {
      hasWaited = true;
    },
  );
  // The tie is made after the proposal, so that the end of the connection finds the lock in the log.
  if (bound !== null) bindOnce(services, call);
}

/** Releases locks bound to a connection when it closes. */
function bindOnce(services: Services, { connection }: Call): void {
  const { node, engine } = services;
  const bound = { node, epoch: engine.epoch, connection: connection.number };
  if (connection.bound && !connection.isClosed) return;
  connection.bound = true;
  connection.tie(() => engine.submitWithRetry({ type: "lock_unbind", bound }));
}

function checkToken(services: Services, actor: Actor, name: FileName, token: string): Reply {
  const { state } = services.engine;
  const hold =
    ownHold(state.locks, actor, name, services.node) ??
    (name.key === null ? undefined : state.locks.holds.get(name.key));
  const [, epoch, grant] = /\.(\d+)\.(\d+)$/.exec(token) ?? [];
  const valid =
    hold !== undefined &&
    sameActor(hold.actor, actor) &&
    token.startsWith(`${state.storeId}.`) &&
    isWithin(Number(epoch), Number(grant), hold.first, hold.token);
  if (valid) {
    return { ok: true, file: name.file, path: pathOf(hold), token: tokenText(state, hold.token) };
  }
  const holder = hold === undefined ? null : actorRow(state, hold.actor);
  const who = holder === null ? "no session holds it now" : `${holder.name} holds it now`;
  const next = isResource(name.lexical) ? "before you use it" : "and read the file anew";
  return refuse("lease_lost", `the lock on ${name.file} was lost; ${who}; lock it again ${next}`, {
    file: name.file,
    holder,
  });
}

type Pair = { readonly epoch: number; readonly grant: number };

/** Whether the token lies between the first and the latest one of a lock. */
function isWithin(epoch: number, grant: number, first: Pair, last: Pair): boolean {
  const before = epoch < first.epoch || (epoch === first.epoch && grant < first.grant);
  const after = epoch > last.epoch || (epoch === last.epoch && grant > last.grant);
  return Number.isInteger(epoch) && Number.isInteger(grant) && !before && !after;
}

function namesOf(request: {
  readonly file?: string | undefined;
  readonly files?: readonly string[] | undefined;
}): string[] {
  return request.file !== undefined ? [request.file] : [...(request.files ?? [])];
}

/** Returns the directory that relative names start from, or a refusal if it is unknown. */
function cwdFor(services: Services, id: string, names: readonly string[]): string | Refusal {
  const cwd = services.engine.state.sessions.live.get(id)?.cwd;
  if (cwd !== undefined) return cwd;
  const relative = names.find(name => !isAbsolute(name));
  if (relative === undefined) return "/";
  return refuse(
    "invalid_request",
    `${relative} is relative, and session ${id} is not registered; register it or give an absolute path`,
  );
}

/**
 * Returns the files under the keys of the actor's locks, if it holds all of them by exactly these names: a release
 * needs no path check. Else null.
 */
function heldNow(
  services: Services,
  actor: Actor,
  cwd: string,
  names: readonly string[],
): readonly FileName[] | null {
  const { locks } = services.engine.state;
  const found: FileName[] = [];
  for (const file of names) {
    const lexical = services.facts.lexical(cwd, file);
    const hold = ownHold(locks, actor, { file, lexical, key: null }, services.node);
    if (hold === undefined) return null;
    found.push({ file, lexical, key: hold.key });
  }
  return found.length === 1 ? found : once(found);
}
