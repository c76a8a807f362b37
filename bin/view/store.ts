/** How the store that machines share is, in the words of `kite status` and `kite store`. */
import { limits } from "../../protocol/limits.ts";
import type { StoreRow, StoreState, UnmovedRow } from "../../protocol/schemas/store.ts";
import { clean, clock, counted } from "./text.ts";

/** Returns what is wrong with the store, or null: it is open, and has what it had, and what belongs there. */
export function storeText(store: StoreRow, now: number): string | null {
  const { is, since, asOf, why, wentBackAt, leaveUndoneAt, unmoved, unfit, uncoordinated } = store;
  const left = unmoved === undefined ? "" : `; ${clean(leftText(unmoved))}`;
  const edits = `${uncoordinated === true ? "" : "; edits are still coordinated"}${left}`;
  const because = why === null ? "" : ` (${clean(why)})`;
  if (is === "open") {
    if (wentBackAt !== null && now < wentBackAt + limits.storeWentBackMs)
      return `store went back at ${minute(wentBackAt, now)}: a backup was restored, or a standby that lagged took over; look whether tasks and messages of just before are there`;
    if (leaveUndoneAt !== undefined && now < leaveUndoneAt + limits.storeWentBackMs)
      return `kite store leave broke off, and was undone at ${minute(leaveUndoneAt, now)}: this machine is still in the store; to leave it: kite store leave`;
    if (unmoved !== undefined) return unmovedText(unmoved);
    return unfit === undefined
      ? null
      : clean(
          `rows of the store do not fit, and are left out: ${unfit.join("; ")}; when somebody has put them right there: kite down && kite up`,
        );
  }
  if (is === "away") {
    return `store away since ${minute(since ?? now, now)}${because}: tasks and messages as of then${edits}`;
  }
  const known = asOf === undefined ? "" : `tasks and messages as of ${minute(asOf, now)}`;
  if (is === "refused")
    return `the store ${refusedText(store)}${because}${known === "" ? "" : `; ${known}`}${edits}`;
  const unknown = "tasks and messages of shared projects are not known";
  return `store not reached since the daemon began${because}: ${known === "" ? unknown : known}${edits}`;
}

/** A server that gives no notifications is asked often. */
export const pollsText =
  "its server tells of no changes, as behind a pooler, so Kite looks each second, and what others do is seen later";

/** Returns what a command says that read the store's state as of then; null: nothing is known. */
export function staleText(asOf: number | null, now: number): string {
  return asOf === null
    ? "the shared store was not reached since the daemon began: tasks and messages of shared projects are not known (kite status)"
    : `the shared store is away: its tasks, messages and context are as of ${minute(asOf, now)} (kite status)`;
}

function unmovedText(unmoved: UnmovedRow): string {
  const because = unmoved.why === null ? "" : ` (${unmoved.why})`;
  return clean(`${leftText(unmoved)}: Kite goes on moving them by itself${because}`);
}

/** Returns what is in no log that anybody can use. */
function leftText({ projects, tasks, context }: UnmovedRow): string {
  const [first = "", ...others] = projects;
  const which = others.length === 0 ? first : `${first} and ${counted(others.length, "other project")}`;
  const what = `${counted(tasks, "open task")} and ${counted(context, "durable context key")}`;
  return `${what} of ${which} are not in the store yet, and nobody can use them`;
}

/** Returns a time to the minute, with the day if that is another one. */
export function minute(at: number, now: number): string {
  return clock(at, now).replace(/(?<=\d:\d\d):\d\d$/, "");
}

/** What stands about the store at the head of a screen; `isTrouble`: above all else. */
export interface StoreHead {
  readonly text: string;
  readonly isTrouble: boolean;
}

/** Returns the line about the store at the head of each screen that shows it. */
export function storeHead(store: StoreState, now: number): StoreHead {
  const trouble = storeText(store, now);
  return { text: trouble ?? machinesText(store), isTrouble: trouble !== null };
}

/** Returns what became of the store, for a list of events. */
export function storeEventText(store: StoreState): string {
  const because = store.why === null ? "" : `: ${clean(store.why)}`;
  if (store.is === "open") return `is open: ${machinesIn(store)}`;
  if (store.is === "refused") return `${refusedText(store)}${because}`;
  return `${store.is === "away" ? "does not answer" : "is not reached"}${because}`;
}

/** Of a store that answers: its tables may be gone, or not those that this machine joined. */
function refusedText({ code }: Pick<StoreRow, "code">): string {
  return code === "store_away" ? "cannot be used now" : "does not take this machine";
}

/** The setting went by hand. */
export const storelessText =
  "no store is set, and projects of this machine are shared in one: what is done in them meanwhile is on this machine " +
  "alone; join the store again (kite store join URL), and then leave it if you want to (kite store leave)";

/** Returns the line of an open store: its machines. */
export function machinesText(store: Pick<StoreState, "where" | "nodes">): string {
  return clean(`Store ${store.where}: ${machinesIn(store)}`);
}

const namesMax = 8;

function machinesIn({ nodes }: Pick<StoreState, "nodes">): string {
  const names = nodes.map(({ machine, is }) => (is === "here" ? machine : `${machine} (${is})`));
  const shown = names.slice(0, namesMax).join(", ");
  const more = names.length > namesMax ? ` and ${names.length - namesMax} more` : "";
  return clean(`${counted(names.length, "machine")}: ${shown}${more}`);
}
