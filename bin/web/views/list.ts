/** The views of the page, in the order of its menu. */
import { agents } from "./lead/agents.tsx";
import { teams } from "./lead/teams.tsx";
import { messages } from "./messages.tsx";
import { now } from "./now.tsx";
import { tasks } from "./tasks.tsx";
import { timeline } from "./timeline.tsx";
import type { View } from "./view.ts";
import { work } from "./work.tsx";

export const views: readonly [View, ...View[]] = [now, timeline, tasks, messages, work, agents, teams];
