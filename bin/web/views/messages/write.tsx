/** A new message of the person, to an agent or to everyone in a project. */
import { useState } from "preact/hooks";
import type { SessionRow } from "../../../../protocol/session-rows.ts";
import { clean, projectName } from "../state.ts";
import type { Page } from "../view.ts";

interface WriteProps {
  readonly write: NonNullable<Page["write"]>;
  readonly sessions: readonly SessionRow[];
}

interface Recipient {
  readonly key: string;
  /** Null: everyone. */
  readonly id: string | null;
  readonly name: string;
  readonly project: string;
}

export function Write({ write, sessions }: WriteProps) {
  const [chosen, choose] = useState("");
  const projects = [...new Set(sessions.map(({ project }) => project))].sort();
  const all = projects.flatMap(project => recipientsIn(project, sessions));
  const recipient = all.find(({ key }) => key === chosen) ?? all[0];
  if (recipient === undefined) return null;
  const { id, name, project } = recipient;
  return (
    <p class="filters">
      <label>
        <span class="dim">To </span>
        <select value={recipient.key} onChange={event => choose(event.currentTarget.value)}>
          {projects.map(one => (
            <optgroup key={one} label={projectName(one)}>
              {all.flatMap(({ key, name: shown, project: of }) =>
                of === one ? (
                  <option key={key} value={key}>
                    {shown}
                  </option>
                ) : (
                  []
                ),
              )}
            </optgroup>
          ))}
        </select>
      </label>
      <button
        type="button"
        onClick={() => write(text => ({ deed: "send", to: id, text, project }), `Write to ${name}`)}
      >
        Write
      </button>
    </p>
  );
}

function recipientsIn(project: string, sessions: readonly SessionRow[]): readonly Recipient[] {
  const own = sessions.filter(one => one.project === project);
  return [
    ...own.map(({ id, name }) => ({ key: `${project}\n${id}`, id, name: clean(name), project })),
    { key: `${project}\n`, id: null, name: `everyone in ${projectName(project)}`, project },
  ];
}
