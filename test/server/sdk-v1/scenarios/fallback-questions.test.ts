import { onSdkV1 } from '../../binding.ts';

onSdkV1();
await import('../../fallback-questions.test.ts');
