/** The roles of live agents, and what these may not do. */
import { defaultRole } from "../../../../protocol/lead/roles.ts";
import { boundsText, sourceText } from "../../../lead/view/roles.ts";
import { counted } from "../../../view/text.ts";
import { order } from "../../../view/urgency.ts";
import type { Rows } from "../../wire.ts";
import { Agent, Empty, Section, TableHead } from "../parts.tsx";
import { projectName } from "../state.ts";
import type { ViewProps } from "../view.ts";

const rolesShownMax = 100;

export function Roles({
  sessions,
  state,
  page,
}: ViewProps & { readonly sessions: readonly Rows["sessions"][] }) {
  const agents = sessions.flatMap(session =>
    [{ ...session, agent: null }, ...session.agents].map(({ name, role, agent }) => ({
      ...{ name, role, agent },
      ...{ id: session.id, project: session.project },
    })),
  );
  const rows = agents
    .flatMap(({ role, ...one }) => (role === undefined ? [] : [{ ...one, ...role }]))
    .sort((a, b) => order(a.role, b.role) || order(a.name, b.name));
  if (rows.length === 0)
    return (
      <Empty
        says={`No agent has another role than the default one, ${defaultRole}. To give one:`}
        command="kite role NAME reviewer"
      />
    );
  const others = agents.length - rows.length;
  return (
    <Section title="Roles" count={rows.length}>
      <table>
        <TableHead columns={["Agent", "Role", "From", "Bounds"]} />
        <tbody>
          {rows.slice(0, rolesShownMax).map(({ id, agent, name, role, by, project }) => (
            <tr key={`${id}/${agent}`}>
              <th scope="row">
                <Agent name={name} id={id} agent={agent} page={page} />
                {state.project === null ? <span class="dim"> {projectName(project)}</span> : null}
              </th>
              <td data-label="Role">{role}</td>
              <td data-label="From">{sourceText(by)}</td>
              <td class="dim" data-label="Bounds">
                {boundsText(role)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length <= rolesShownMax ? null : (
        <p class="dim">and {counted(rows.length - rolesShownMax, "agent")} more</p>
      )}
      {others === 0 ? null : (
        <p class="dim">
          {counted(others, "other agent")} with the default role, {defaultRole}. Whether roles are enforced:{" "}
          <code>kite role</code>
        </p>
      )}
    </Section>
  );
}
