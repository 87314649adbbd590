// A run that returns a value of a zod schema. The model is told what is wrong with an invalid answer, and corrects it.
import assert from 'node:assert/strict';
import { PocketAgent, tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { z } from 'zod';

const Forecast = z.object({
  city: z.string(),
  days: z.array(z.object({ day: z.string(), celsius: z.number().min(-90).max(60) })),
});

const readSensor = tool({
  name: 'read_sensor',
  description: 'Returns the temperature of a day in degrees Celsius',
  inputSchema: z.object({ day: z.string() }),
  annotations: { readOnlyHint: true },
  run: ({ day }) => (day === 'Monday' ? 19 : 21),
});

const answerWith = (celsius: number) => ({
  name: 'final_answer',
  arguments: { city: 'Zurich', days: [{ day: 'Monday', celsius }] },
});

await using agent = new PocketAgent({
  // a model that forgets the decimal point in its first answer
  llmModel: new ScriptedModel([
    { toolCalls: [{ name: 'read_sensor', arguments: { day: 'Monday' } }] },
    { toolCalls: [answerWith(190)] },
    { toolCalls: [answerWith(19)] },
  ]),
  name: 'Meteorologist',
  tools: [readSensor],
  output: Forecast,
});

const forecast = await agent.run('What will the weather be like in Zurich?');
for (const { day, celsius } of forecast.days) console.log(`${forecast.city}, ${day}: ${celsius} °C`);

assert.deepEqual(forecast, { city: 'Zurich', days: [{ day: 'Monday', celsius: 19 }] });
assert.match(JSON.stringify(agent.messages), /days\.0\.celsius: Too big/);
assert.equal(agent.totals.usage.toolCalls, 1); // final_answer does not count as a tool call

// another program can ask the same agent over MCP and gets the same structure
assert.deepEqual(agent.outputSchema?.required, ['city', 'days']);
