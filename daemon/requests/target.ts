/** The points at which features add to what a query shows. */
import type { StatsReply } from "../../protocol/daemon.ts";
import type { PageStart } from "../views/paging.ts";
import type { Keyed, RowsOf } from "../views/row.ts";
import type { DaemonServices } from "./handler.ts";

export interface Wanted extends RowsOf {
  readonly from: PageStart | null;
}

type OfProject = { readonly project: string };

/** What `query` shows of a target. */
export interface Target<Row extends OfProject = OfProject> {
  /** Reads what is outside of the state, if anything, and returns what makes the rows in their order. */
  open(services: DaemonServices, wanted: Wanted): Rows<Row> | Promise<Rows<Row>>;
  /** Returns the sessions that a row belongs to. Without it, `id` does not filter. */
  ids?(row: Row): readonly (string | null | undefined)[];
}

export type Rows<Row> = () => Iterable<Keyed<Row>>;

/** What a feature adds to `stats`. */
export type StatsColumn = (services: DaemonServices) => Partial<StatsReply>;
