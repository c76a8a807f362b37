/** Debates: open ones first, then the latest that closed. */
import { personName } from "../../../../protocol/names.ts";
import { noteOf, stands } from "../../../lead/view/debates.ts";
import { counted } from "../../../view/text.ts";
import type { Rows } from "../../wire.ts";
import { Agent, Empty, Section } from "../parts.tsx";
import { agoText, clean, projectName } from "../state.ts";
import type { ViewProps } from "../view.ts";

type Debate = Rows["debates"];

const openShownMax = 50;
const closedShownMax = 20;

export function Debates({ debates, state, page }: ViewProps & { readonly debates: readonly Debate[] }) {
  if (debates.length === 0)
    return (
      <Empty
        says="No debates. To open one:"
        command='kite debate open "Why does it hang?" --hypothesis race="two write" --hypothesis leak="no memory"'
      />
    );
  const latest = [...debates].sort((a, b) => b.openedAt - a.openedAt);
  const open = latest.filter(({ status }) => status === "open");
  const closed = latest.filter(({ status }) => status === "closed");
  const shown = [...open.slice(0, openShownMax), ...closed.slice(0, closedShownMax)];
  return (
    <Section title="Debates" count={debates.length}>
      {shown.map(debate => (
        <DebatePart key={debate.id} debate={debate} state={state} page={page} />
      ))}
      {debates.length === shown.length ? null : (
        <p class="dim">
          and {counted(debates.length - shown.length, "debate")} more: <code>kite debate list</code>
        </p>
      )}
    </Section>
  );
}

function DebatePart({ debate, state, page }: ViewProps & { readonly debate: Debate }) {
  const { id, project, question, status, hypotheses, openedBy, openedAt, entryCount, verdict } = debate;
  return (
    <article class="debate">
      <h3>{clean(question)}</h3>
      <p class="dim">
        {status}
        {": "}
        {clean(noteOf(debate, { now: state.nowMs }))}
        {"; opened by "}
        {openedBy === null ? (
          clean(personName())
        ) : (
          <Agent name={openedBy.name} id={openedBy.id} agent={openedBy.agent} page={page} />
        )}
        {`, ${agoText(state, openedAt)}; ${entryCount === 1 ? "1 entry" : `${entryCount} entries`}`}
        {state.project === null ? ` in ${projectName(project)}` : ""}
        {"; "}
        <code>kite debate show {clean(id)}</code>
      </p>
      <ul>
        {hypotheses.map(one => (
          <li key={one.name} class={verdict?.name === one.name ? "state-merged" : ""}>
            <strong>{clean(one.name)}</strong>
            {`: ${clean(one.claim)} `}
            <span class={one.unanswered.length > 0 && status === "open" ? "state-waits" : "dim"}>
              ({stands(one)})
            </span>
          </li>
        ))}
      </ul>
      {verdict === null ? null : (
        <p>
          Verdict: <strong>{clean(verdict.name)}</strong>
          {`, because ${clean(verdict.because)}`}
        </p>
      )}
    </article>
  );
}
