/** The clients' own lists of tasks, below those of `kite task list`. */
export { clientTasksView } from "../view/client-tasks.ts";
export { nativeTasks } from "./native-tasks.ts";
