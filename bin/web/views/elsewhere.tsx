/** What other machines tell that share a store with this one: their sessions, and files that both sides changed. */
import type { SameFileSide } from "../../../protocol/work.ts";
import { elsewhereState, elsewhereTitle, sameFileTitle } from "../../view/elsewhere.ts";
import { counted } from "../../view/text.ts";
import { Agent, Section, TableHead } from "./parts.tsx";
import { clean, projectName } from "./state.ts";
import type { ViewProps } from "./view.ts";

export function Elsewhere({ state }: Pick<ViewProps, "state">) {
  const rows = state.rows("elsewhere") ?? [];
  if (rows.length === 0) return null;
  return (
    <Section title={elsewhereTitle(rows)} count={rows.length}>
      <table>
        <TableHead columns={["Agent", "Machine", "State", "Role", "Branch", "Task"]} />
        <tbody>
          {rows.map(row => {
            const { id, name, machine, role = "", branch, tasks, declared, project } = row;
            return (
              <tr key={id}>
                <th scope="row">
                  <bdi>{clean(name)}</bdi>
                  {state.project === null ? <div class="dim">{projectName(project)}</div> : null}
                </th>
                <td data-label="Machine">{clean(machine)}</td>
                <td data-label="State">{elsewhereState(row)}</td>
                <td data-label="Role">{clean(role)}</td>
                <td data-label="Branch">{branch === null ? null : <code>{clean(branch)}</code>}</td>
                <td data-label="Task">{clean(tasks[0]?.description ?? declared?.task ?? "")}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </Section>
  );
}

interface SameFilesProps extends ViewProps {
  readonly shownMax: number;
}

/** Files that a branch here and one of another machine changed. */
export function SameFiles({ state, page, shownMax }: SameFilesProps) {
  const rows = state.rows("same_files") ?? [];
  if (rows.length === 0) return null;
  const more = rows.length - shownMax;
  return (
    <Section title={sameFileTitle} count={rows.length}>
      <p class="dim">Changed on another machine, too. Whether that conflicts, only the merge shows.</p>
      <ul class="rows">
        {rows.slice(0, shownMax).map(({ file, project, sides: [mine, theirs] }) => (
          <li key={`${project}\n${mine.id}\n${theirs.id}\n${file}`} class="dispute">
            {state.project === null ? <span class="dim">{projectName(project)}</span> : null}
            <code>{clean(file)}</code>
            <span>
              <Agent name={mine.name} id={mine.id} agent={null} page={page} />
              {branchText(mine)}
            </span>
            <span>
              <bdi>{clean(theirs.name)}</bdi>
              {branchText(theirs)}
            </span>
          </li>
        ))}
      </ul>
      {more <= 0 ? null : (
        <p class="dim">
          and {counted(more, "file")} more: <code>kite status --json</code>
        </p>
      )}
    </Section>
  );
}

function branchText({ branch, uncommitted }: SameFileSide): string {
  const parts = [
    ...(branch === null ? [] : [clean(branch)]),
    ...(uncommitted === true ? ["not committed"] : []),
  ];
  return parts.length === 0 ? "" : ` (${parts.join(", ")})`;
}
