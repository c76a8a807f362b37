/** The views of the page, in the order of its menu. */
import { agents } from "./lead/agents.tsx";
import { teams } from "./lead/teams.tsx";
import { messages } from "./messages.tsx";
import { now } from "./now.tsx";
import type { View } from "./state.ts";
import { tasks } from "./tasks/tasks.tsx";
import { timeline } from "./timeline/screen.tsx";
import { work } from "./work.tsx";

export const views: readonly [View, ...View[]] = [now, timeline, tasks, messages, work, agents, teams];
