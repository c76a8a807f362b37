/** declare: turns the files of the code view into keys; the core keeps the declaration. */

import { refuse } from "../../protocol/codes.ts";
import type { KiteEvent } from "../../protocol/events.ts";
import { limits } from "../../protocol/limits.ts";
import type { RequestOf } from "../../protocol/schemas/requests.ts";
import type { Actor, FileRef } from "../core/frame/actors.ts";
import type { ViewedFile } from "../core/tables/declarations.ts";
import type { Reply } from "../core/tables/entries.ts";
import { pathOf } from "../core/tables/naming.ts";
import type { Session } from "../core/tables/sessions.ts";
import { isDeclared } from "../core/work/declared-elsewhere.ts";
import type { Log } from "../engine/engine.ts";
import { idHere, type Logs, type LogView, type SharedListener } from "../engine/log-view.ts";
import { refs } from "../facts/facts.ts";
import type { Needs } from "../hooks/parts.ts";
import { declareParts } from "../leading.ts";
import type { Services } from "../options.ts";
import type { Call } from "../server/call.ts";
import { isRefusal } from "../server/call.ts";
import { overlapsThere } from "../views/elsewhere.ts";
import { forward } from "./handler.ts";

export async function declare(
  services: Services & Needs<"config">,
  request: RequestOf<"declare">,
  call: Call,
): Promise<void> {
  await services.engine.read(() => {});
  const session = services.engine.state.sessions.live.get(request.id);
  if (session === undefined) {
    const error = `no session ${request.id} is registered; send register first`;
    call.reply(refuse("unknown_session", error));
    return;
  }
  const files = await viewed(services, session, request.codeView ?? []);
  if (isRefusal(files)) {
    call.reply(files);
    return;
  }
  const shapes = await Promise.all(declareParts.map(part => part(services, session)));
  const propose = forward<"declare">({
    command: (_, { by, wallMs }) => {
      const { identity, understanding, uncertainties = [], anew = false } = request;
      return {
        type: "declare",
        actor: by,
        ancestors: services.presence.ancestors(by.session, by.agent),
        anew,
        ...defined({ ...identity, ...understanding }),
        files,
        uncertainties: uncertainties.map(one => ({ ...defined(one), question: one.question })),
        wallMs,
      };
    },
    line: () => ({ why: whatOf(request) }),
    reply: (answer, _, { engine }, { by }) =>
      shapes.reduce((reply, shape) => shape(reply), withOthers(engine, by, answer)),
  });
  propose(services, request, call);
}

/** Returns what tells agents of this machine that others declared the same files in a shared project. */
export function tellsOverlaps({ engine }: Pick<Services, "engine">): SharedListener {
  return {
    reached: () => takeBackOverlaps(engine),
    told(events) {
      for (const { event, project } of events)
        if (event.event === "declarations_overlap")
          for (const mine of [0, 1] as const) tellOverlap(engine, engine.logOf(project), event, mine);
      takeBackOverlaps(engine);
    },
  };
}

/** Takes back notices of overlaps that are over before they reached an agent: the other one struck the file off, or ended. */
function takeBackOverlaps(engine: Log): void {
  const { notes, sessions, declarations } = engine.state;
  for (const { session, agent, notes: pending } of notes.pending.values()) {
    const { project = "", worktree = "" } = sessions.live.get(session) ?? {};
    const log = engine.logOf(project);
    if (log.state === engine.state) continue;
    for (const { note } of pending) {
      if (note.what !== "overlap" || !note.other.includes("@") || !note.file.startsWith(`${worktree}/`))
        continue;
      const isOwn = [...declarations.live.values()].some(({ name }) => name === note.other);
      if (isOwn || isDeclared(log.state, project, note.file.slice(worktree.length + 1), note.other)) continue;
      engine.submitWithRetry({ type: "note_given", session, agent, note, isOver: true });
    }
  }
}

/** Tells the agent of one side what the other one declared, if that agent is of this machine. */
function tellOverlap(engine: Log, log: LogView, { sides, paths, wills }: OverlapEvent, mine: 0 | 1): void {
  const theirs = mine === 0 ? 1 : 0;
  const { id, agent } = sides[mine];
  const session = idHere(engine, log, id);
  const { worktree } = engine.state.sessions.live.get(session ?? "") ?? {};
  if (session === undefined || worktree === undefined) return;
  // Machines name a file by its path within its worktree.
  const file = `${worktree}/${paths[theirs]}`;
  const note = { what: "overlap", file, other: sides[theirs].name, will: wills[theirs] } as const;
  engine.submitWithRetry({ type: "note_given", session, agent, note });
}

type OverlapEvent = Extract<KiteEvent, { readonly event: "declarations_overlap" }>;

/** Returns the answer with what overlaps on other machines, too. */
function withOthers(logs: Logs, by: Actor, answer: Reply): Reply {
  const there = answer.ok ? overlapsThere(logs, by) : [];
  if (there.length === 0 || !Array.isArray(answer["overlaps"])) return answer;
  return { ...answer, overlaps: [...answer["overlaps"], ...there].slice(0, limits.overlapsMax) };
}

type Viewed = NonNullable<RequestOf<"declare">["codeView"]>[number];

/**
 * Returns the files as keys; of two entries of one file the later counts. Refuses the whole worktree and all above it: a
 * code view of everything says nothing of what the agent will change.
 */
async function viewed(
  services: Services,
  { cwd, worktree }: Pick<Session, "cwd" | "worktree">,
  view: readonly Viewed[],
) {
  const found = new Map<string, ViewedFile>();
  for (const { file, ...rest } of view) {
    const one = await refs(services, cwd, [file]);
    if (isRefusal(one)) return one;
    if (rest.drop !== true && one.some(ref => `${worktree}/`.startsWith(asFolder(pathOf(ref))))) {
      const error = `${file} is the whole worktree, or a folder around it; declare the files that you will change, or the folders within it`;
      return refuse("invalid_request", error, { path: "codeView", file });
    }
    for (const ref of one) found.set(ref.key, { ref: plainRef(ref), ...defined(rest) });
  }
  return [...found.values()];
}

function asFolder(path: string): string {
  return path.endsWith("/") ? path : `${path}/`;
}

function plainRef({ file, lexical, key, dir, path }: FileRef): FileRef {
  return path === undefined ? { file, lexical, key, dir } : { file, lexical, key, dir, path };
}

/** Returns the fields that are there: an absent part of a declaration stays as it was. */
function defined<T extends object>(fields: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>;
  };
}

/** For the trail: which parts came. */
function whatOf({
  identity,
  understanding,
  codeView = [],
  uncertainties = [],
}: RequestOf<"declare">): string {
  const questions = uncertainties.length;
  const parts = [
    identity?.role === undefined ? null : `role ${identity.role}`,
    understanding === undefined ? null : "understanding",
    codeView.length === 0 ? null : `${codeView.length} ${codeView.length === 1 ? "file" : "files"}`,
    questions === 0 ? null : `${questions} ${questions === 1 ? "uncertainty" : "uncertainties"}`,
  ];
  return parts.filter(part => part !== null).join("; ");
}
