// Classifies handwritten digits, one in a second, and says so on the serial port.
#include <ox.h>

#include "digits.h"

static const char *failed;
static int at;

void setup() {
    Serial.begin(115200);
    failed = digits_begin();
}

void loop() {
    if (failed) {
        Serial.println(failed);
    } else {
        Serial.print(digits_label(at));
        Serial.print(" was taken for ");
        Serial.println(digits_classify(at));
        if (++at == digits_count()) {
            at = 0;
            Serial.print(digits_bytes());
            Serial.println(" bytes of the buffer");
        }
    }
    delay(1000);
}
