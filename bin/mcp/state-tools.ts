/** Tools that show state: kite_status. It shows only the caller's own project. */

import { homedir } from "node:os";
import * as z from "zod";
import { limits } from "../../protocol/limits.ts";
import { personName } from "../../protocol/names.ts";
import type { LockRow } from "../../protocol/schemas/lock.ts";
import type { HoldRow } from "../../protocol/schemas/message.ts";
import type { DeclaredBrief } from "../../protocol/schemas/session.ts";
import type { AgentRow, SessionRow } from "../../protocol/session-rows.ts";
import { duration, frame, nearPath, quote } from "../../protocol/text.ts";
import type { ElsewhereRow } from "../../protocol/work.ts";
import type { ToolAnswer } from "../agents/verb.ts";
import { granted, Refused, rowsOf } from "../context/with-daemon.ts";
import { found, unseenLines } from "../diff/diff.ts";
import { changeJson, changeLines, statLines } from "../diff/show.ts";
import { withTools } from "../rescue/rescue.ts";
import type { Asker } from "../rescue/versions.ts";
import { type Call, looks, type Tool, tool } from "./tool.ts";

// What an agent, or of a file anybody, has changed and not committed, as kite_status shows it.

/** Lines of an answer: a model reads all of it. */
const linesMax = 300;

/** Throws `Refused` if nothing is called so, or git is not installed. */
async function diffAnswer(call: Call, what: string): Promise<ToolAnswer> {
  const { actor, acting } = call;
  const asker: Asker = {
    client: await call.own(),
    acting: actor,
    cwd: acting.cwd,
    env: process.env,
    now: Date.now,
  };
  return withTools(asker, async ({ texts, commits }) => {
    if (texts === null)
      throw new Refused({
        ok: false,
        code: "not_available",
        error: "git, which compares texts, is not installed",
      });
    const screen = { width: Number.POSITIVE_INFINITY, color: false, now: Date.now(), home: homedir() };
    const { changes, unseen, odd, more } = await found(asker, asker, { commits, texts }, what, {
      within: acting,
    });
    const diffs: object[] = [];
    const lines: string[] = [];
    for (const change of changes) {
      if (lines.length < linesMax) lines.push(...(await changeLines(texts, change, screen)));
      diffs.push(await changeJson(texts, change));
    }
    const isLong = lines.length > linesMax;
    const shown = isLong
      ? [...lines.slice(0, linesMax), `${lines.length - linesMax} or more further lines`]
      : lines;
    const stat = changes.length > 1 ? await statLines(texts, changes, screen) : [];
    const none = changes.length === 0 ? ["Nothing differs."] : [];
    const text = [frame, ...none, ...stat, ...shown, ...unseenLines(unseen)].join("\n");
    return { text, data: { diffs, unseen, odd, more } };
  });
}

/** Number of a session's latest files shown. */
const filesShownMax = 5;

/** The screen of an agent that gets another one than others; null: the caller is none. `sessions` are its project's. */
export type OwnScreen = (
  call: Call,
  sessions: readonly SessionRow[],
  unread: number,
) => Promise<ToolAnswer | null>;

/** Returns the tools; `own` is asked before the common screen is made. */
export function lookTools(own: OwnScreen): readonly Tool[] {
  return [statusTool(own)];
}

const statusTool = (own: OwnScreen) =>
  tool({
    name: "kite_status",
    title: "Who works here",
    description:
      "Who works here, what is locked or frozen, who waits, ready tasks, unread messages. Call it before work on shared " +
      "files. `diff`: an agent's or file's uncommitted work.",
    input: z.object({
      details: z.boolean().optional().describe("Also directories, agents, open files"),
      diff: z.string().max(limits.pathBytes).optional(),
    }),
    annotations: looks,
    run: async (call, { details = false, diff }) => {
      if (diff !== undefined) return diffAnswer(call, diff);
      const { id, name, project, cwd } = call.acting;
      const [{ sessions, locks, freezes, far }, { ready, unread }] = await Promise.all([
        around(call),
        waiting(call),
      ]);
      const screen = details ? null : await own(call, sessions, unread);
      if (screen !== null) return screen;
      const others = sessions.filter(s => s.id !== id && s.status !== "lost");
      const text = [
        `You are ${quote(name)}, in project ${quote(project, limits.pathBytes)}.`,
        frame,
        ...listed(others, session => (details ? detail : oneLine)(session, cwd), "no other sessions"),
        ...(far.length === 0 ? [] : listed(far, farLine, "")),
        ...listed(locks, lock => lockLine(lock, id, cwd), "no files are held"),
        ...freezes.map(freeze => `- ${freezeLine(freeze, id, cwd)}`),
        ...(ready === 0 ? [] : [`Tasks ready to be claimed: ${ready}.`]),
        ...(unread === 0 ? [] : [`Unread messages: ${unread}.`]),
      ].join("\n");
      const held = locks.slice(0, limits.mcpRowsMax).map(lock => lockData(lock, id, cwd));
      const data = {
        you: name,
        project,
        note: frame,
        others: some(others).map(session => (details ? full : brief)(session, cwd)),
        ...(far.length === 0 ? {} : { onOtherMachines: some(far).map(farData) }),
        held,
        freezes: freezes.map(freeze => freezeData(freeze, id, cwd)),
        readyTasks: ready,
        unreadMessages: unread,
      };
      return { text, data };
    },
  });

async function around({ client, acting: { project } }: Call) {
  const [sessions, locks, freezes, far] = await Promise.all([
    rowsOf(client, "sessions", { project }),
    rowsOf(client, "locks", { project }),
    rowsOf(client, "holds", { project }),
    client.daemon.sharedStoreId === undefined ? [] : rowsOf(client, "elsewhere", { project }),
  ]);
  return { sessions, locks, freezes, far };
}

/** Counts the caller's ready tasks and unread messages. */
async function waiting({ client, actor, acting: { project } }: Call) {
  const [ready, inbox] = await Promise.all([
    rowsOf(client, "task_ready", { project }, limits.rowsMax),
    client.request("message_list", { ...actor, unread: true, limit: 1 }),
  ]);
  return { ready: ready.length, unread: granted(inbox).unread };
}

function listed<Row>(rows: readonly Row[], line: (row: Row) => string, none: string): string[] {
  if (rows.length === 0) return [`- ${none}`];
  const shown = rows.slice(0, limits.mcpRowsMax).map(row => `- ${line(row)}`);
  const more = rows.length - shown.length;
  return more === 0 ? shown : [...shown, `- and ${more} more`];
}

function some<Row>(rows: readonly Row[]): readonly Row[] {
  return rows.slice(0, limits.mcpRowsMax);
}

function brief({ name, branch, status, waitingForPath, attention, declared }: SessionRow, cwd: string) {
  const waitsFor = waitingForPath === null ? null : nearPath(waitingForPath, cwd);
  return { name, status, branch, waitsFor, waitsOnPerson: attention, ...declaredData(declared) };
}

/** The parts of a declaration that are there. */
function declaredData(declared: DeclaredBrief | undefined) {
  const { role = "", task = "", mismatched = false } = declared ?? {};
  const differs = mismatched ? { identityMismatch: true } : {};
  return { ...(role === "" ? {} : { role }), ...(task === "" ? {} : { task }), ...differs };
}

function full(session: SessionRow, cwd: string) {
  const { worktree, agents, files, locks: held, lastSeenMs } = session;
  const names = agents.map(({ name, status, waitingForPath, locks, declared }) => ({
    name,
    status,
    waitsFor: waitingForPath === null ? null : nearPath(waitingForPath, cwd),
    held: locks,
    ...declaredData(declared),
  }));
  const open = files.slice(-filesShownMax).map(file => nearPath(file, cwd));
  const rest = { worktree, agents: names, open, held };
  return { ...brief(session, cwd), ...rest, seenSecondsAgo: Math.floor(lastSeenMs / 1000) };
}

function lockData({ path, holder, heldMs, kind, dir, use, waiters }: LockRow, self: string, cwd: string) {
  const by = holder?.name ?? null;
  const inLine = waiters.map(w => w.name);
  const seconds = Math.floor(heldMs / 1000);
  const how = use === undefined ? {} : { use };
  return {
    file: nearPath(path, cwd),
    directory: dir === true,
    by,
    you: holder?.id === self,
    kind,
    ...how,
    seconds,
    inLine,
  };
}

function oneLine(session: SessionRow, cwd: string): string {
  const { name, branch, status: state, waitingForPath, attention, declared } = session;
  const where = branch === null ? "" : `, branch ${quote(branch)}`;
  const waits = waitingForPath === null ? "" : `, waits for ${quote(nearPath(waitingForPath, cwd))}`;
  const asks = attention === null ? "" : `, waits on a person (${quote(attention)})`;
  return `${quote(name)}${where}, ${state}${declaredText(declared)}${waits}${asks}`;
}

/** A session of another machine. */
function farLine({ name, branch, state, tasks: [task], declared }: ElsewhereRow): string {
  const where = branch === null ? "" : `, branch ${quote(branch)}`;
  const silent = state === "there" ? "" : ", its machine is silent";
  const works = task === undefined ? "" : `, works on ${quote(task.description)}`;
  return `${quote(name)} on another machine${where}${silent}${declaredText(declared)}${works}`;
}

function farData({ name, branch, state, tasks: [task], declared }: ElsewhereRow) {
  return { name, branch, state, worksOn: task?.description ?? null, ...declaredData(declared) };
}

function declaredText(declared: DeclaredBrief | undefined): string {
  const { role = "", task = "", mismatched = false } = declared ?? {};
  const who = role === "" ? "" : `, ${quote(role)}`;
  const differs = mismatched ? ", identity mismatch" : "";
  return `${who}${task === "" ? "" : `, declared the task ${quote(task)}`}${differs}`;
}

function agentText({ name, waitingForPath, declared }: AgentRow, cwd: string): string {
  const waits = waitingForPath === null ? "" : ` (waits for ${quote(nearPath(waitingForPath, cwd))})`;
  return `${quote(name)}${declaredText(declared)}${waits}`;
}

/** `cwd` is the reader's. */
function detail(session: SessionRow, cwd: string): string {
  const { cwd: its, agents, files, lastSeenMs } = session;
  const team = agents.length === 0 ? "" : `; agents: ${agents.map(a => agentText(a, cwd)).join(", ")}`;
  const names = files.slice(-filesShownMax).map(file => quote(nearPath(file, cwd)));
  const open = names.length === 0 ? "" : `; has open ${names.join(", ")}`;
  return `${oneLine(session, cwd)}; in ${quote(its)}; seen ${duration(lastSeenMs)} ago${team}${open}`;
}

function lockLine({ path, holder, heldMs, dir, use, waiters }: LockRow, self: string, cwd: string): string {
  const who =
    holder === null ? "nobody" : holder.id === self ? `you (${quote(holder.name)})` : quote(holder.name);
  const line = waiters.length === 0 ? "" : `; waiting: ${waiters.map(w => quote(w.name)).join(", ")}`;
  const near = quote(nearPath(dir === true ? `${path}/` : path, cwd), limits.pathBytes);
  const how = use === undefined ? "" : useTexts[use];
  return `${near} is held by ${who}${how}, for ${duration(heldMs)} now${line}`;
}

const useTexts: Readonly<Record<NonNullable<LockRow["use"]>, string>> = {
  writes: " for an edit under way",
  command: " while a command runs",
  kept: " until its work is done",
};

function freezeLine({ hold, files, by, leftMs, text }: HoldRow, self: string, cwd: string): string {
  const who = by === null ? personName("agent") : by.id === self ? `you (${quote(by.name)})` : quote(by.name);
  const what = files.map(file => quote(nearPath(file, cwd))).join(", ");
  return `${hold}: ${what} frozen by ${who} for ${duration(leftMs)} more: ${quote(text)}`;
}

function freezeData({ hold, files, by, leftMs, text }: HoldRow, self: string, cwd: string) {
  const what = files.map(file => nearPath(file, cwd));
  const secondsLeft = Math.floor(leftMs / 1000);
  return { freeze: hold, files: what, by: by?.name ?? null, you: by?.id === self, secondsLeft, text };
}
