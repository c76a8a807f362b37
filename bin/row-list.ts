/** The rows of every target of `query`, of both halves. */
import { leadRows } from "./lead/query-rows.ts";
import { baseRows } from "./query-rows.ts";

const forms = { ...baseRows, ...leadRows } as const;

/** The row of each target. */
export type Rows = {
  readonly [T in keyof typeof forms]: (typeof forms)[T] extends (row: unknown) => row is infer Row
    ? Row
    : never;
};

/** Whether a row has the form of its target in this version. */
export const isRow: { readonly [T in keyof Rows]: (row: unknown) => row is Rows[T] } = forms;
