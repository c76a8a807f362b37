/** The latest results of checks, by worktree. */
import { resultWords } from "../../../lead/view/checks.ts";
import { counted } from "../../../view/text.ts";
import { order } from "../../../view/urgency.ts";
import type { Rows } from "../../wire.ts";
import { Empty, Section, TableHead } from "../parts.tsx";
import { clean, pathText } from "../state.ts";
import type { ViewProps } from "../view.ts";

const checksShownMax = 100;

export function Checks({ checks, state }: ViewProps & { readonly checks: readonly Rows["checks"][] }) {
  if (checks.length === 0)
    return <Empty says="No result of a check. To run the project's checks:" command="kite check" />;
  const latest = [...checks].sort((a, b) => b.at - a.at).slice(0, checksShownMax);
  const sorted = latest.sort((a, b) => order(a.worktree, b.worktree) || order(a.name, b.name));
  const left = checks.length - latest.length;
  return (
    <Section title="Checks" count={checks.length}>
      <table>
        <TableHead columns={["Check", "Worktree", "Result"]} />
        <tbody>
          {sorted.map(row => (
            <tr key={`${row.worktree}\n${row.name}`}>
              <th scope="row">{clean(row.name)}</th>
              <td data-label="Worktree">
                <code>{pathText(row.worktree, { viewer: state.viewer, project: null })}</code>
              </td>
              {/* Whether the worktree has that state still, kite check --list looks at. */}
              <td class={row.exit === 0 ? "state-merged" : "state-returned"}>
                {clean(resultWords(row, "stale", state.nowMs))}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {left === 0 ? null : <p class="dim">and {counted(left, "result")} more, older than these</p>}
    </Section>
  );
}
