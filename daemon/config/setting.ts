/** What a feature says of each of its settings: a table of these rows; `settings.ts` lists the tables. */
import type { z } from "zod";

export interface Setting<V = unknown> {
  /** The form and the bounds of a value. */
  readonly schema: z.ZodType<V>;
  readonly initial: NoInfer<V>;
  /** The variable that overrides the user's file. */
  readonly variable: string;
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

/** Keeps the type of a setting's values. */
export function setting<V>(one: Setting<V>): Setting<V> {
  return one;
}
