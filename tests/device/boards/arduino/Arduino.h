// Arduino.h: what sketches of the tests need of Arduino's core, on boards of the emulator.
#pragma once
#include <stdint.h>

void setup();
void loop();
static inline void delay(unsigned long) {}

struct serial_port {
    void begin(unsigned long);
    void print(const char *text);
    void print(int number);
    void print(unsigned number);
    template <typename T> void println(T what) {
        print(what);
        print("\n");
    }
};
extern serial_port Serial;
