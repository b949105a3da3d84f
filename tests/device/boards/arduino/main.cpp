// main.cpp: the loop around a sketch, as often as there are digits, and the serial port, which the emulator shows.
#include "Arduino.h"
#include "digits.h"

// Of board.h, which is C alone.
extern "C" void board_put(const char *text);
extern "C" void board_put_number(uint32_t number);

serial_port Serial;

void serial_port::begin(unsigned long) {}

void serial_port::print(const char *text) {
    board_put(text);
}

void serial_port::print(unsigned number) {
    board_put_number(number);
}

void serial_port::print(int number) {
    if (number < 0)
        board_put("-");
    board_put_number(static_cast<uint32_t>(number < 0 ? -number : number));
}

int main() {
    setup();
    for (int i = 0; i < digits_count(); i++)
        loop();
    return 0;
}
