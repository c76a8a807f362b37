/** What a feature says of each of its settings: a table of these rows; `settings.ts` lists the tables. */
import * as z from "zod";

export interface Setting<V = unknown> {
  /** The form and the bounds of a value. */
  readonly schema: z.ZodType<V>;
  readonly initial: NoInfer<V>;
  /** What it is, for people: half a sentence. */
  readonly says: string;
  /** A running daemon goes on with the value that it began with. */
  readonly fixed?: true;
  /** The variable that overrides the user's file; null: none does. */
  readonly variable: string | null;
  /** Of a setting that no variable has: where it is set, as a sentence. */
  readonly elsewhere?: string;
  /**
   * Returns what a project's file makes of the user's value: another value, a sentence why it is ignored, or nothing where it
   * says the same. Without it a project may not have the setting.
   */
  tighten?(user: V, project: V): { readonly value: V } | { readonly ignored: string } | null;
}

export type SettingTable = Readonly<Record<string, Setting>>;

/** A part of a project's file that is no setting of the user. It reads its own form, and adds a sentence for each problem. */
export interface Section<V = unknown> {
  read(value: unknown, path: string, problems: string[]): V;
  /** Of the part in a user's file: where it belongs. */
  readonly elsewhere: string;
}

/** Returns the form of a text that is one of these. */
export function oneOf<const T extends string>(values: readonly [T, ...T[]]): z.ZodType<T> {
  return z.enum(values, { error: `expected ${inWords(values)}` });
}

/** `a, b or c`. */
function inWords(values: readonly string[]): string {
  return values.length < 2 ? values.join("") : `${values.slice(0, -1).join(", ")} or ${values.at(-1)}`;
}

/** Keeps the type of a setting's values. */
export function setting<V>(one: Setting<V>): Setting<V> {
  return one;
}
