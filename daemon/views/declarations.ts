/** Declarations as `query` shows them: those of this machine's log, and of other machines those of the logs that it shares. */
import type { DeclarationRow } from "../../protocol/schemas/declaration.ts";
import { nodeOf } from "../core/nodes/shared-ids.ts";
import { type Declaration, declarationsOf } from "../core/tables/declarations.ts";
import { noteKey } from "../core/tables/messages.ts";
import { declarationRow } from "../core/work/overlaps.ts";
import type { Logs, LogView } from "../engine/log-view.ts";
import { byPosition, type Keyed, type RowsOf } from "./row.ts";

/** Declarations that hold, in the order they began, then by their agents; of a session those of its agents. */
export function* declarationRows(
  logs: Logs,
  { id, project }: RowsOf = {},
): Generator<Keyed<DeclarationRow>, void> {
  const rows: Keyed<DeclarationRow>[] = [];
  for (const log of logsWith(logs, project)) {
    const { declarations } = log.state;
    const all = id === undefined ? declarations.live.values() : declarationsOf(declarations, id);
    for (const one of all)
      if (isShown(logs, log, one))
        rows.push({ place: one.declaredAt, key: noteKey(one), row: () => rowOf(logs, log, one) });
  }
  // Their tables are in the order of the latest changes.
  yield* rows.sort(byPosition);
}

/** Declarations that ended: those of this machine, then those of others; of each log the oldest first. */
export function* endedDeclarationRows(
  logs: Logs,
  { id, project }: RowsOf = {},
): Generator<Keyed<DeclarationRow>, void> {
  const { endedCount } = logs.state.declarations;
  for (const log of logsWith(logs, project))
    for (const [n, one] of log.state.declarations.ended) {
      if ((id !== undefined && one.session !== id) || !isShown(logs, log, one)) continue;
      const place = log.state === logs.state ? n : endedCount + n;
      yield { place, key: String(n), row: () => rowOf(logs, log, one) };
    }
}

/** This machine's log, and the shared ones; of a project only that which has it. */
function logsWith(logs: Logs, project: string | undefined): readonly LogView[] {
  const [own, ...shared] = logs.logs;
  if (own === undefined || shared.length === 0 || project === undefined) return logs.logs;
  const log = logs.logOf(project);
  return log.state === own.state ? [own] : [own, log];
}

/** Whether the declaration is of this machine's log, or of a shared one and of another machine. */
function isShown(logs: Logs, log: LogView, { session }: Declaration): boolean {
  return log.state === logs.state || nodeOf(session) !== logs.state.outbox.node;
}

function rowOf(logs: Logs, log: LogView, declaration: Declaration): DeclarationRow {
  const row = declarationRow(declaration, log.now);
  if (log.state === logs.state) return row;
  const node = nodeOf(declaration.session) ?? "";
  const { files, ...here } = log.outward(row);
  const machine = log.state.leases.all.get(node)?.machine ?? node;
  // A project that this machine does not share has no clone here.
  const isHere = here.project.startsWith("/");
  const placed = files.map(file => (isHere ? { ...file, path: `${here.project}/${file.path}` } : file));
  return { ...here, machine, files: placed };
}
