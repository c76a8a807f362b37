/** The views of the page, in the order of its menu. */
import { now } from "./now.tsx";
import { tasks } from "./tasks.tsx";
import type { View } from "./view.ts";
import { work } from "./work.tsx";

export const views: readonly [View, ...View[]] = [now, work, tasks];
