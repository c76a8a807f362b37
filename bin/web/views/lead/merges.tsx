/** Merges by base: those that wait or run in their order, then the latest that ended. */
import type { MergeReason } from "../../../../protocol/lead/merge.ts";
import { limits } from "../../../../protocol/limits.ts";
import { unreadText } from "../../../lead/view/features.ts";
import { order } from "../../../view/session-notes.ts";
import { counted, listed } from "../../../view/text.ts";
import type { Rows } from "../../wire.ts";
import { Agent, Empty, Section, TableHead } from "../parts.tsx";
import type { ViewProps } from "../state.ts";
import { agoText, clean, projectName, type ViewState } from "../state.ts";

type Merge = Rows["merges"];

const waitingShownMax = 100;
const endedShownMax = 20;

interface MergesProps extends ViewProps {
  readonly merges: readonly Merge[];
  /** Of spawned agents, which Kite can open in a terminal. */
  readonly sessions: ReadonlySet<string | null>;
}

export function Merges({ merges, ...props }: MergesProps) {
  if (merges.length === 0)
    return (
      <Empty
        says="No merges. To merge an agent's branch once the checks are green:"
        command="kite merge NAME"
      />
    );
  const bases = [...new Set(merges.map(baseOf))].sort(order);
  return (
    <>
      {bases.map(base => (
        <Base key={base} {...props} merges={merges.filter(one => baseOf(one) === base)} />
      ))}
    </>
  );
}

function baseOf({ project, base }: Merge): string {
  return `${project}\n${base}`;
}

function Base({ merges, sessions, state, page }: MergesProps) {
  const isOpen = ({ state: is }: Merge) => is === "queued" || is === "running";
  const waiting = merges.filter(isOpen).sort((a, b) => a.queuedAt - b.queuedAt);
  const ended = merges.filter(one => !isOpen(one)).sort((a, b) => b.changedAt - a.changedAt);
  const shown = [...waiting.slice(0, waitingShownMax), ...ended.slice(0, endedShownMax)];
  const [first] = merges;
  if (first === undefined) return null;
  const where = state.project === null ? ` in ${projectName(first.project)}` : "";
  const branches = new Map(merges.map(({ id, branch }) => [id, branch]));
  return (
    <Section title={`Merges into ${shortName(first.base)}${where}`} count={waiting.length}>
      <table>
        <TableHead columns={["Branch", "State", "Author", "Since"]} />
        <tbody>
          {shown.map(merge => (
            <tr key={merge.id} class={merge.unread === undefined ? "" : "needs"}>
              <th scope="row">
                <code>{shortName(merge.branch)}</code>
                <div class="dim">{clean(merge.id)}</div>
              </th>
              <td data-label="State">
                <span class={`state-${merge.state}`}>{stateText(merge)}</span>
                {notesOf(merge, branches, sessions).map(note => (
                  <div key={note} class="note">
                    {note}
                  </div>
                ))}
                <Output reason={merge.reason} />
              </td>
              <td data-label="Author">
                {merge.author === null ? null : (
                  <Agent
                    name={merge.author.name}
                    id={merge.author.id}
                    agent={merge.author.agent}
                    page={page}
                  />
                )}
              </td>
              <td data-label="Since">{whenText(merge, state)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {merges.length === shown.length ? null : (
        <p class="dim">
          and {counted(merges.length - shown.length, "merge")} more: <code>kite merge --list</code>
        </p>
      )}
    </Section>
  );
}

/** Merges of other machines that wait, run or came back, of which their own machine has the rest. */
export function MergesElsewhere({ state }: Pick<ViewProps, "state">) {
  const merges = [...(state.rows("merges_elsewhere") ?? [])].sort((a, b) => b.changedAt - a.changedAt);
  if (merges.length === 0) return null;
  const more = merges.length - waitingShownMax;
  return (
    <Section title="Merges on other machines" count={merges.length}>
      <table>
        <TableHead columns={["Branch", "State", "Into", "Author", "Machine", "Since"]} />
        <tbody>
          {merges.slice(0, waitingShownMax).map(merge => (
            <tr key={`${merge.machine}\n${merge.id}`}>
              <th scope="row">
                <code>{clean(merge.branch)}</code>
                {state.project === null ? <div class="dim">{projectName(merge.project)}</div> : null}
              </th>
              <td data-label="State">
                <span class={`state-${merge.state}`}>{merge.state}</span>
              </td>
              <td data-label="Into">
                <code>{clean(merge.base)}</code>
              </td>
              <td data-label="Author">{clean(merge.authorName ?? "")}</td>
              <td data-label="Machine">{clean(merge.machine)}</td>
              <td data-label="Since">{agoText(state, merge.changedAt)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {more <= 0 ? null : (
        <p class="dim">
          and {counted(more, "merge")} more: <code>kite merge --list</code>
        </p>
      )}
    </Section>
  );
}

function stateText({ state, moving, rebase, checkOnly }: Merge): string {
  const how = [rebase ? "rebased" : "", checkOnly ? "checked only" : "", moving ? "the base moves" : ""];
  const more = how.filter(one => one !== "").join(", ");
  return more === "" ? state : `${state} (${more})`;
}

/** Returns what a merge waits for, why it was not merged, and who has not read so. */
function notesOf(
  { state, attended, after, reason, unread }: Merge,
  branches: ReadonlyMap<string, string>,
  sessions: MergesProps["sessions"],
): string[] {
  const waits = after.flatMap(id => branches.get(id) ?? []).map(shortName);
  const isOpenable = unread !== undefined && unread.state !== "gone" && sessions.has(unread.who.id);
  return [
    ...(state === "queued" && !attended ? ["no command attends to it: kite merge"] : []),
    ...(state === "queued" && waits.length > 0 ? [`after ${listed(waits)}`] : []),
    ...(reason === null ? [] : [reasonText(reason)]),
    ...(unread === undefined ? [] : [clean(unreadText(unread, isOpenable))]),
  ];
}

function reasonText({ text, files, more }: MergeReason): string {
  return `${clean(text)}${files.length === 0 ? "" : `: ${listed(files.map(clean), more)}`}`;
}

/** The end of a red check's output. */
function Output({ reason }: { readonly reason: MergeReason | null }) {
  const output = clean(reason?.output ?? "");
  if (output === "") return null;
  return (
    <div class="note">
      <code>{output.slice(-limits.quoteChars * 2)}</code>
    </div>
  );
}

function whenText({ state: is, commit, changedAt }: Merge, state: ViewState): string {
  const ago = agoText(state, changedAt);
  return is === "merged" && commit !== null ? `${ago}, at ${commit.slice(0, 7)}` : ago;
}

function shortName(branch: string): string {
  return clean(branch.replace(/^refs\/heads\//, ""));
}
