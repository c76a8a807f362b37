/** What a trail line says of an event of the log: the point at which features describe their own events. */
import type { EventName, KiteEvent } from "../../protocol/events.ts";
import type { TrailLine } from "./line.ts";

/** The fields of a line in which one event differs from the next. */
export interface EventFields extends Partial<Pick<TrailLine, "type" | "file" | "decision" | "task">> {
  /** Null: nobody in particular. */
  readonly by: { readonly id: string | null; readonly agent?: string | null; readonly name: string } | null;
  readonly rule: string;
  readonly why: string;
}

/** The lines of events by their names; an event without any has no line. */
export type EventLines = {
  readonly [E in EventName]?: (event: Extract<KiteEvent, { readonly event: E }>) => readonly EventFields[];
};
