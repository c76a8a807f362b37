/** The points at which features add to what a query shows. */
import type { StatsReply } from "../../protocol/schemas/daemon.ts";
import type { PageStart } from "../views/paging.ts";
import type { Keyed, RowsOf } from "../views/row.ts";
import type { DaemonServices } from "./handler.ts";

export interface Wanted extends RowsOf {
  readonly from: PageStart | null;
  /** Only rows of this absolute path, or of what is below it. */
  readonly file?: string | undefined;
  /** The session that asks, if it sees its own project alone. */
  readonly reader?: string | undefined;
}

type OfProject = { readonly project: string };

/** What `query` shows of a target. */
export interface Target<Row extends OfProject = OfProject> {
  /** Reads what is outside of the state, if anything, and returns what makes the rows in their order. */
  open(services: DaemonServices, wanted: Wanted): Rows<Row> | Promise<Rows<Row>>;
  /** Returns the sessions that a row belongs to. Without it, `id` does not filter. */
  ids?(row: Row): readonly (string | null | undefined)[];
}

/** A row that is undefined is not wanted. */
export type Rows<Row> = () => Iterable<Keyed<Row | undefined>>;

/** What a feature adds to `stats`. */
export type StatsColumn = (services: DaemonServices) => Partial<StatsReply>;
