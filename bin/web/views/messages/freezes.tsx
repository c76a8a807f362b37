/** Files that only one agent may edit for a while. */
import type { HoldRow } from "../../../../protocol/schemas/message.ts";
import { Age, Agent, Empty, File, Section } from "../parts.tsx";
import { agoMs, clean, cleanLines } from "../state.ts";
import type { ViewProps } from "../view.ts";

export function Freezes({ state, page }: ViewProps) {
  const holds = state.rows("holds") ?? [];
  return (
    <Section title="Freezes" count={holds.length}>
      {holds.length === 0 ? (
        <Empty
          says="No file is frozen. A freeze keeps others from files for a while:"
          command="kite freeze src/db/ --for 5m"
        />
      ) : (
        <ul class="rows">
          {holds.map(hold => (
            <li key={hold.hold}>
              <span class="files">
                {hold.paths.map(path => (
                  <File key={path} path={path} state={state} page={page} />
                ))}
              </span>
              <span>
                {"frozen by "}
                {hold.by === null ? (
                  <bdi>{clean(state.viewer.user)}</bdi>
                ) : (
                  <Agent name={hold.by.name} id={hold.by.id} agent={hold.by.agent} page={page} />
                )}
              </span>
              <span>
                <Age ms={Math.max(0, hold.leftMs - agoMs(state, "holds", 0))} />
                {" left"}
              </span>
              <Thaw hold={hold} page={page} />
              <span class="foreign">{cleanLines(hold.text)}</span>
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}

function Thaw({ hold, page }: Pick<ViewProps, "page"> & { readonly hold: HoldRow }) {
  const act = page?.act ?? null;
  if (act === null) return null;
  const files = hold.files.map(clean).join(", ");
  return (
    <button
      type="button"
      aria-label={`Thaw ${files}`}
      onClick={() =>
        act({ deed: "thaw", hold: hold.hold, project: hold.project }, `End the freeze of ${files}?`)
      }
    >
      Thaw
    </button>
  );
}
