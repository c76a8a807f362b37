/** Sessions of other machines, which share a store with this one. Only their own machine knows what they edit. */
import { elsewhereStates, elsewhereTitle } from "../../view/elsewhere.ts";
import { Section } from "./parts.tsx";
import { clean, projectName } from "./state.ts";
import type { ViewProps } from "./view.ts";

export function Elsewhere({ state }: Pick<ViewProps, "state">) {
  const rows = state.rows("elsewhere") ?? [];
  if (rows.length === 0) return null;
  return (
    <Section title={elsewhereTitle(rows)} count={rows.length}>
      <table>
        <thead>
          <tr>
            <th scope="col">Agent</th>
            <th scope="col">Machine</th>
            <th scope="col">State</th>
            <th scope="col">Role</th>
            <th scope="col">Branch</th>
            <th scope="col">Task</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ id, name, machine, state: is, role = "", branch, tasks, declared, project }) => (
            <tr key={id}>
              <th scope="row">
                <bdi>{clean(name)}</bdi>
                {state.project === null ? <div class="dim">{projectName(project)}</div> : null}
              </th>
              <td data-label="Machine">{clean(machine)}</td>
              <td data-label="State">{elsewhereStates[is]}</td>
              <td data-label="Role">{clean(role)}</td>
              <td data-label="Branch">{branch === null ? null : <code>{clean(branch)}</code>}</td>
              <td data-label="Task">{clean(tasks[0]?.description ?? declared?.task ?? "")}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Section>
  );
}
