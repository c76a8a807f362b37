import { findsPlanted } from "./plant.ts";

findsPlanted("rest");
