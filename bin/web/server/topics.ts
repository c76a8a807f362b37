/** Where the rows of each topic come from, and which events of the daemon say that they have changed. */

import { offFiles } from "../../../daemon/config/off-switch.ts";
import type { KitePaths } from "../../../protocol/paths.ts";
import type { StoreState } from "../../../protocol/schemas/store.ts";
import { debatesOf } from "../../lead/debates/rows.ts";
import { observedText, offTexts } from "../../off/now.ts";
import type { Client } from "../../process-context.ts";
import { Titles } from "../../titles.ts";
import { projectRoot } from "../../view/places.ts";
import { storeHead } from "../../view/store.ts";
import { ask, rowsOf } from "../../with-daemon.ts";
import { bounds } from "../bounds.ts";
import { keyOf, type Rows, type Topic, type Viewer } from "../wire.ts";

type Asking = Pick<Client, "request" | "daemon">;

interface Source<T extends Topic> {
  readonly look: (client: Asking, viewer: Viewer) => Promise<readonly Rows[T][]>;
  /** Names of events after which the rows are looked at again. */
  readonly events: RegExp;
  /** What no event tells changes, too: looked at again after so many milliseconds at least. */
  readonly everyMs: number;
  /** Files of Kite's directory after whose changes the rows are looked at again. */
  readonly files?: (paths: KitePaths) => readonly string[];
}

const seconds = 1_000;

/** Returns a look at a target of `query`, of the one project or of all. */
function rowsOfTarget<T extends Exclude<Topic, "debates" | "notices" | "titles" | "wiped">>(target: T) {
  return (client: Asking, { project }: Viewer) => rowsOf(client, target, project === null ? {} : { project });
}

/** Rows of other machines: where no store is set there are none, and nobody asks. */
function rowsOfOthers<T extends "elsewhere" | "same_files" | "merges_elsewhere">(target: T) {
  const look = rowsOfTarget(target);
  return async (client: Asking, viewer: Viewer) =>
    client.daemon.sharedStoreId === undefined ? [] : look(client, viewer);
}

const sessionsWanted = /^(?:session_|agent_|lock_|task_|role_|spawn_|merge_|declared|hold_|message_)/;

export const sources: { readonly [T in Topic]: Source<T> } = {
  // What an agent does comes with events of hooks, which are in no log.
  sessions: { look: rowsOfTarget("sessions"), events: sessionsWanted, everyMs: seconds },
  locks: { look: rowsOfTarget("locks"), events: /^(?:lock_|session_)/, everyMs: 5 * seconds },
  refusals: {
    // Refusals have no project: those of the sessions that are shown.
    look: async (client, viewer) => {
      const rows = await rowsOf(client, "refusals");
      if (viewer.project === null) return rows;
      const shown = await rowsOf(client, "sessions", { project: viewer.project });
      const ids = new Set(shown.map(({ id }) => id));
      return rows.filter(({ id }) => id !== null && ids.has(id));
    },
    events: /^(?:lock_wait_ended|work_)/,
    everyMs: 3 * seconds,
  },
  tasks: {
    look: tasksShown,
    events: /^(?:task_|debate_|role_)/,
    everyMs: 60 * seconds,
  },
  holds: { look: rowsOfTarget("holds"), events: /^(?:hold_|session_)/, everyMs: 10 * seconds },
  messages: { look: messagesShown, events: /^(?:message_|inbox_|session_)/, everyMs: 60 * seconds },
  context: { look: rowsOfTarget("context"), events: /^context_/, everyMs: 60 * seconds },
  writes: {
    look: rowsOfTarget("writes"),
    events: /^(?:lock_released|lost_update|bypassed|work_|file_conflict)/,
    // Git's own commands change it, too.
    everyMs: 5 * seconds,
  },
  risks: {
    look: rowsOfTarget("risks"),
    events: /^(?:merge_|file_conflict|lock_released)/,
    everyMs: 5 * seconds,
  },
  declarations: {
    look: rowsOfTarget("declarations"),
    events: /^(?:declar|session_)/,
    everyMs: 30 * seconds,
  },
  spawns: {
    look: rowsOfTarget("spawns"),
    events: /^(?:spawn_|merge_|session_|agent_)/,
    everyMs: 10 * seconds,
  },
  merges: { look: rowsOfTarget("merges"), events: /^(?:merge_|check_)/, everyMs: 10 * seconds },
  checks: { look: rowsOfTarget("checks"), events: /^check_/, everyMs: 30 * seconds },
  teams: { look: rowsOfTarget("teams"), events: /^(?:session_|agent_)/, everyMs: 5 * seconds },
  elsewhere: {
    look: rowsOfOthers("elsewhere"),
    events: /^(?:session_|task_|elsewhere_|store_)/,
    everyMs: 60 * seconds,
  },
  same_files: {
    look: rowsOfOthers("same_files"),
    events: /^(?:same_file_|session_|elsewhere_|store_)/,
    everyMs: 60 * seconds,
  },
  merges_elsewhere: {
    look: rowsOfOthers("merges_elsewhere"),
    events: /^(?:merge_elsewhere_|store_)/,
    everyMs: 60 * seconds,
  },
  debates: { look: debatesShown, events: /^(?:debate_|session_)/, everyMs: 30 * seconds },
  // What is lost may come back by git, of which no event tells.
  wiped: { look: wipedShown, events: /^work_/, everyMs: 15 * seconds },
  notices: {
    look: noticesShown,
    events: /^store_changed$/,
    // A switch ends by itself.
    everyMs: 30 * seconds,
    files: ({ home, config }) => [...Object.values(offFiles(home)), config],
  },
  titles: { look: titlesShown, events: /^session_/, everyMs: 5 * seconds },
};

/** A task that goes on meanwhile comes twice rather than never. */
const statusOrder = ["pending", "active", "failed", "done"] as const;

/** Open tasks first: a project of years has more done ones than the page takes, and they are the oldest. */
async function tasksShown(client: Asking, { project }: Viewer): Promise<readonly Rows["tasks"][]> {
  const found = new Map<string, Rows["tasks"]>();
  for (const status of statusOrder) {
    const room = bounds.tasksMax - found.size;
    if (room <= 0) break;
    const rows = await rowsOf(client, "tasks", { status, ...(project === null ? {} : { project }) }, room);
    for (const row of rows.slice(0, room)) found.set(row.id, row);
  }
  return [...found.values()];
}

/** Messages that are in an inbox, and those that their readers acknowledged. */
async function messagesShown(client: Asking, { project }: Viewer): Promise<readonly Rows["messages"][]> {
  const of = project === null ? {} : { project };
  const looks = (["messages_acknowledged", "messages"] as const).map(target => rowsOf(client, target, of));
  const found = new Map<string, Rows["messages"]>();
  for (const row of (await Promise.all(looks)).flat()) {
    const key = keyOf.messages(row);
    // One that only some acknowledged is in both.
    found.set(key, { ...row, to: [...row.to, ...(found.get(key)?.to ?? [])] });
  }
  return [...found.values()];
}

/** Debates are asked for by project. */
async function debatesShown(client: Asking, viewer: Viewer): Promise<readonly Rows["debates"][]> {
  const projects =
    viewer.project === null
      ? [...new Set((await rowsOf(client, "sessions")).map(({ project }) => project))]
      : [viewer.project];
  const found = projects.slice(0, bounds.projectsMax).map(project => debatesOf(client, { project }));
  return (await Promise.all(found)).flatMap(({ rows }) => rows);
}

/** An agent sees what its own project lost; the daemon finds that by a directory. */
async function wipedShown(client: Asking, { project }: Viewer): Promise<readonly Rows["wiped"][]> {
  if (project === null) return (await ask(client, "overview", {})).wiped ?? [];
  // A project that is no directory is one of the wire alone.
  if (!project.startsWith("/")) return [];
  const { wiped = [] } = await ask(client, "overview", { cwd: projectRoot(project) });
  return wiped.filter(row => row.project === project);
}

async function noticesShown(client: Asking, viewer: Viewer): Promise<readonly Rows["notices"][]> {
  const { off, mode, settings, store } = await ask(client, "overview", {});
  const { project } = viewer;
  const concerns = off.filter(({ of }) => project === null || of === null || of === project);
  const world = { env: { HOME: viewer.home }, now: () => Date.now() };
  const texts = [
    ...offTexts(concerns, world),
    ...(mode === undefined ? [] : [observedText]),
    ...(settings?.problem == null ? [] : [settings.problem]),
  ];
  return [...(store === undefined ? [] : [storeNotice(store)]), ...texts.map(text => ({ text }))];
}

function storeNotice(store: StoreState): Rows["notices"] {
  const { text, isTrouble } = storeHead(store, Date.now());
  return { text, isOfStore: true, ...(isTrouble ? {} : { isFine: true }) };
}

const titles = new Titles();

/** In memory alone, and for a person. */
async function titlesShown(client: Asking, viewer: Viewer): Promise<readonly Rows["titles"][]> {
  if (!viewer.isPerson) return [];
  return [...(await titles.read(client))].map(([id, title]) => ({ id, title }));
}
